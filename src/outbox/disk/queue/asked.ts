import type { DurableStorage } from "../../durable.js";
import type { Ask, DiskClaim, Letter, PagePosition, Results } from "./requests.js";

/** So few that other processes can write in between. */
const RETRIED_AT_ONCE = 200;

/**
 * What a file's users ask for, apart from delivery. Calls `onQueued` when dead letters were queued
 * again.
 */
export function storageThrough(ask: Ask, onQueued: () => void = () => {}) {
  async function retry(letters: readonly Letter[]): Promise<number> {
    const retried = await ask({ type: "retry", letters });
    onQueued();
    return retried;
  }

  return {
    deadLetters: {
      list: (query, destination) => ask({ type: "list", query, destination }),
      sums: (filter, destination) => ask({ type: "sums", filter, destination }),
      ids: (filter, destination) => ask({ type: "ids", filter, destination }),
      retry: async (id, destination) => (await retry([{ id, destination }])) === 1,
      async retryAll(filter, destination) {
        const letters = await ask({ type: "retried", filter, destination });
        let retried = 0;
        for (let from = 0; from < letters.length; from += RETRIED_AT_ONCE) {
          retried += await retry(letters.slice(from, from + RETRIED_AT_ONCE));
        }
        return retried;
      },
      discard: (id, destination) => ask({ type: "discard", letter: { id, destination } }),
    },
    circuits: {
      read: (destination) => ask({ type: "circuits", destination }),
      replace: (change) => ask({ type: "replace circuit", ...change }),
    },
    cancel: (id, destination) => ask({ type: "cancel", destination, id }),
    personal: {
      async *pages(destination) {
        let from: PagePosition | undefined = { table: "scheduled", after: 0 };
        while (from) {
          const page: Results["page"] = await ask({ type: "page", destination, from });
          yield page.found;
          from = page.next;
        }
      },
      remove: (destination, found) =>
        ask({
          type: "erase",
          destination,
          found: found.map(({ id, place }) => ({ id, seq: Number(place) })),
        }),
    },
  } satisfies Pick<DurableStorage<DiskClaim>, "deadLetters" | "circuits" | "cancel" | "personal">;
}
