import type { DeadLetterFilter, DeadLetterQuery } from "../dead-letters.js";
import type { Letter, Request, Results } from "./protocol.js";

/** So few that other processes can write in between. */
const RETRIED_AT_ONCE = 200;

/**
 * The dead letters of a file.
 *
 * @param ask asks the thread, or the file itself.
 * @param onQueued hears that some were queued again.
 */
export function deadLettersThrough(
  ask: <R extends Request>(request: R) => Promise<Results[R["type"]]>,
  onQueued: () => void = () => {},
) {
  async function retry(letters: readonly Letter[]): Promise<number> {
    const retried = await ask({ type: "retry", letters });
    onQueued();
    return retried;
  }

  return {
    list: (query: DeadLetterQuery, destination: number | undefined) =>
      ask({ type: "list", query, destination }),
    sums: async (filter: DeadLetterFilter, destination: number | undefined) =>
      (await ask({ type: "sums", filter, destination })) as Results["sums"],
    ids: async (filter: DeadLetterFilter, destination: number | undefined) =>
      (await ask({ type: "ids", filter, destination })) as Results["ids"],
    retry: async (id: string, destination: number | undefined) => (await retry([{ id, destination }])) === 1,
    async retryAll(filter: DeadLetterFilter, destination: number | undefined) {
      const letters = await ask({ type: "retried", filter, destination });
      let retried = 0;
      for (let from = 0; from < letters.length; from += RETRIED_AT_ONCE) {
        retried += await retry(letters.slice(from, from + RETRIED_AT_ONCE));
      }
      return retried;
    },
    discard: (id: string, destination: number | undefined) =>
      ask({ type: "discard", letter: { id, destination } }),
  };
}
