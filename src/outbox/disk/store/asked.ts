import type { Verdict } from "../../claim.js";
import type { DurableStorage } from "../../durable.js";
import { pagesOf } from "../../queue/personal.js";
import type { Ask, DiskClaim, RequestOf } from "./requests.js";

/** So few that other processes can write in between. */
const RETRIED_AT_ONCE = 200;

export function settling(
  { isHeld: _, lane: __, ...claimed }: DiskClaim,
  verdict: Verdict,
): RequestOf<"settle"> {
  return { type: "settle", claimed, verdict };
}

/**
 * What a file's users ask for, apart from delivery. Calls `onQueued` when dead letters were queued
 * again.
 */
export function storageThrough(ask: Ask, onQueued: () => void = () => {}) {
  async function retry(ids: readonly string[]): Promise<number> {
    let retried = 0;
    for (let from = 0; from < ids.length; from += RETRIED_AT_ONCE)
      retried += await ask({ type: "retry", ids: ids.slice(from, from + RETRIED_AT_ONCE) });
    onQueued();
    return retried;
  }

  return {
    look: () => ask({ type: "count" }),
    deadLetters: {
      list: (query) => ask({ type: "list", query }),
      sums: (filter) => ask({ type: "sums", filter }),
      ids: (filter) => ask({ type: "ids", filter }),
      retry: async (id) => (await retry([id])) > 0,
      retryAll: async (filter) => retry(await ask({ type: "retried", filter })),
      discard: (id) => ask({ type: "discard", id }),
    },
    unanswered: (endpoint) => ask({ type: "unanswered", endpoint }),
    cancel: (id) => ask({ type: "cancel", id }),
    personal: {
      pages: () => pagesOf((after) => ask({ type: "page", after })),
      remove: (found) => ask({ type: "erase", found }),
    },
  } satisfies Partial<DurableStorage<DiskClaim>>;
}
