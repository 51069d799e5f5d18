import { onTestFinished } from "vitest";
import { type DiskOutboxOptions, diskOutbox } from "../../src/outbox/disk/disk-outbox.js";
import type { Claim, Verdict } from "../../src/outbox/outbox.js";
import { DESTINATION } from "../contract/samples.js";
import { delivering } from "./deliver.js";
import { DELIVERED } from "./disk-store.js";
import { scratchDirectory } from "./scratch.js";

/** An outbox that does with its events what the test says, and what it says meanwhile. */
export function watched(
  { directory = scratchDirectory(), ...options }: Partial<DiskOutboxOptions> = {},
  deliver: (claim: Claim) => Promise<Verdict> | Verdict = () => DELIVERED,
) {
  const outbox = diskOutbox({ directory, ...options });
  outbox.bind(DESTINATION);
  onTestFinished(() => outbox.close());
  const said: string[] = [];
  /** The first word of each. */
  const codes: string[] = [];
  const handed: string[] = [];
  const delivered: string[] = [];
  const settled: Verdict["type"][] = [];

  function say(text: string): void {
    said.push(text);
    codes.push(text.replace(/ .*/s, ""));
  }

  const hand = delivering(
    async (claim) => {
      handed.push(claim.event.id);
      const verdict = await deliver(claim);
      if (verdict.type === "delivered") delivered.push(claim.event.id);
      return verdict;
    },
    undefined,
    (_event, _attempts, { type }) => settled.push(type),
  );
  const start = () =>
    outbox.start(hand, {
      dropped: (_event, reason) => say(`dropped ${reason}`),
      degraded: (error) => say(`${(error as { code?: string }).code} ${error.message}`),
      recovered: () => say("recovered"),
    });
  return { directory, outbox, said, codes, handed, delivered, settled, start };
}
