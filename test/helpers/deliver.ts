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
 * Binds an outbox, and makes it deliver all events. Returns the ids, in order, its notices about the storage, and
 * the errors in these.
 */
export function run(outbox: Outbox) {
  const delivered: string[] = [];
  const said: string[] = [];
  const errors: Error[] = [];
  const deliver = delivering(async ({ event }) => {
    delivered.push(event.id);
    return { type: "delivered" };
  });
  outbox.bind(DESTINATION);
  outbox.start(deliver, {
    dropped() {},
    degraded(error) {
      said.push("degraded");
      errors.push(error);
    },
    recovered: () => said.push("recovered"),
  });
  return { delivered, said, errors };
}
