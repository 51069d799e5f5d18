import type { Outbox } from "../outbox.js";
import type { Request, Results } from "./protocol.js";

/** So few that other processes have their turn in between. */
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
): Outbox["deadLetters"] {
  async function retry(ids: readonly string[]): Promise<number> {
    const retried = await ask({ type: "retry", ids });
    onQueued();
    return retried;
  }

  return {
    list: ({ limit = 100 } = {}) => ask({ type: "list", limit }),
    retry: async (id) => (await retry([id])) === 1,
    async retryAll() {
      const ids = await ask({ type: "dead ids" });
      let retried = 0;
      for (let from = 0; from < ids.length; from += RETRIED_AT_ONCE) {
        retried += await retry(ids.slice(from, from + RETRIED_AT_ONCE));
      }
      return retried;
    },
    discard: (id) => ask({ type: "discard", id }),
  };
}
