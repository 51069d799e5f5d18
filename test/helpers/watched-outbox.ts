import { onTestFinished } from "vitest";
import { type DiskOutboxOptions, diskOutbox } from "../../src/outbox/disk/disk-outbox.js";
import { watch } from "./deliver.js";
import { scratchDirectory } from "./scratch.js";

/** A disk outbox that is closed with the test. */
export function outboxIn(directory = scratchDirectory(), options: Partial<DiskOutboxOptions> = {}) {
  const outbox = diskOutbox({ directory, ...options });
  onTestFinished(() => outbox.close());
  return outbox;
}

/** A disk outbox that does with its events what the test says, and what it says meanwhile. */
export function watched(
  { directory = scratchDirectory(), ...options }: Partial<DiskOutboxOptions> = {},
  deliver?: Parameters<typeof watch>[1],
) {
  const outbox = outboxIn(directory, options);
  const all = watch(outbox, deliver);
  /** The first word of each that it says. */
  return { directory, outbox, codes: () => all.said.map((text) => text.replace(/ .*/s, "")), ...all };
}
