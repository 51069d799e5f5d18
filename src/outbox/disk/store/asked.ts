import type { Verdict } from "../../claim.js";
import type { DurableStorage } from "../../durable.js";
import type { Letter } from "../../queue/dead-letters.js";
import { pagesOf } from "../../queue/personal.js";
import type { Ask, DiskClaim, RequestOf } from "./requests.js";

/** So few that other processes can write in between. */
const RETRIED_AT_ONCE = 200;

export function settling(
  claim: DiskClaim,
  verdict: Verdict,
  { isRepeated = false, isHeld = true } = {},
): RequestOf<"settle"> {
  const { seq, visitor, endpoint, dueAt, event, history, interrupted, queuedAt } = claim;
  const claimed = { seq, visitor, endpoint, dueAt, event, history, interrupted, queuedAt };
  return { type: "settle", claimed, verdict, isRepeated, isHeld };
}

/**
 * What a file's users ask for, apart from delivery. Calls `onQueued` when dead letters were queued
 * again.
 */
export function storageThrough(ask: Ask, onQueued: () => void = () => {}) {
  async function retry(letters: readonly Letter[]): Promise<number> {
    let retried = 0;
    for (let from = 0; from < letters.length; from += RETRIED_AT_ONCE) {
      retried += await ask({ type: "retry", letters: letters.slice(from, from + RETRIED_AT_ONCE) });
    }
    onQueued();
    return retried;
  }

  return {
    deadLetters: {
      list: (query, destination) => ask({ type: "list", query, destination }),
      sums: (filter, destination) => ask({ type: "sums", filter, destination }),
      ids: (filter, destination) => ask({ type: "ids", filter, destination }),
      retry: async (id, destination) => (await retry(await ask({ type: "one letter", id, destination }))) > 0,
      retryAll: async (filter, destination) => retry(await ask({ type: "retried", filter, destination })),
      discard: (id, destination) => ask({ type: "discard", id, destination }),
    },
    circuits: {
      read: (destination) => ask({ type: "circuits", destination }),
      replace: (change) => ask({ type: "replace circuit", ...change }),
    },
    cancel: (id, destination) => ask({ type: "cancel", destination, id }),
    reportedAt: (id, destination) => ask({ type: "reported at", destination, id }),
    personal: {
      pages: (destination) => pagesOf((after) => ask({ type: "page", destination, after })),
      remove: (destination, found) => ask({ type: "erase", destination, found }),
    },
  } satisfies Pick<
    DurableStorage<DiskClaim>,
    "deadLetters" | "circuits" | "cancel" | "reportedAt" | "personal"
  >;
}
