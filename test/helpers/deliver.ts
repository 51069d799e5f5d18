import type { Capacity, Claim, Deliver, Verdict } from "../../src/outbox/outbox.js";
import { ENDPOINTS } from "../../src/service/endpoints.js";
import { DESTINATION } from "../../src/testing/contract/samples.js";

/** Capacity for so many events of any endpoint. */
export function capacityOf(limit: number): Capacity {
  return {
    destination: DESTINATION,
    limit,
    lanes: limit > 0 ? ENDPOINTS.map((endpoint) => ({ endpoint, limit })) : [],
  };
}

/** What an outbox is started with: a function that makes the attempts, and how many more may begin. */
export function delivering(
  deliver: (claim: Claim) => Promise<Verdict>,
  limit: () => number = () => 8,
  settled: Deliver["settled"] = () => {},
): Deliver {
  return { destination: DESTINATION, capacity: () => capacityOf(limit()), deliver, settled };
}

/** As `delivering`, and everything is delivered. */
export function deliveringAll(limit?: () => number): Deliver {
  return delivering(async () => ({ type: "delivered" }), limit);
}
