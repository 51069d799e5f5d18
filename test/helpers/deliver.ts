import type { Outbox } from "express-affiliate";
import type { Capacity, Claim, Deliver, Verdict } from "../../src/outbox/outbox.js";
import { ENDPOINTS } from "../../src/service/endpoints.js";
import { DESTINATION } from "../contract/samples.js";

/** Capacity for so many events of any endpoint. */
export function capacityOf(limit: number): Capacity {
  return { limit, lanes: limit > 0 ? ENDPOINTS.map((endpoint) => ({ endpoint, limit })) : [] };
}

/**
 * What an outbox is started with: a function that makes the attempts, and how many more may begin.
 */
export function delivering(
  deliver: (claim: Claim) => Promise<Verdict>,
  limit: () => number = () => 8,
  settled: Deliver["settled"] = () => {},
): Deliver {
  return { capacity: () => capacityOf(limit()), deliver, settled };
}

/** As `delivering`, and everything is delivered. */
export function deliveringAll(limit?: () => number): Deliver {
  return delivering(async () => ({ type: "delivered" }), limit);
}

/**
 * Binds an outbox, which does with its events what the test says once `start` is called. Returns the
 * ids, in order, what was settled, and what the outbox says meanwhile.
 */
export function watch(
  outbox: Outbox,
  deliver: (claim: Claim) => Promise<Verdict> | Verdict = () => ({ type: "delivered" }),
) {
  const handed: string[] = [];
  const delivered: string[] = [];
  const settled: [id: string, type: Verdict["type"]][] = [];
  const said: string[] = [];
  outbox.bind(DESTINATION);
  const hand = delivering(
    async (claim) => {
      handed.push(claim.event.id);
      const verdict = await deliver(claim);
      if (verdict.type === "delivered") delivered.push(claim.event.id);
      return verdict;
    },
    undefined,
    ({ id }, _, { type }) => settled.push([id, type]),
  );
  const start = () =>
    outbox.start(hand, {
      dropped: (_, reason) => said.push(`dropped ${reason}`),
      degraded: (error) => said.push(`${(error as { code?: string }).code} ${error.message}`),
      recovered: () => said.push("recovered"),
    });
  return { handed, delivered, settled, said, start };
}

/** As `watch`, and it delivers all events from now on. */
export function run(outbox: Outbox) {
  const { start, ...watched } = watch(outbox);
  start();
  return watched;
}
