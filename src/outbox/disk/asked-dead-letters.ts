import type { Outbox } from "../outbox.js";
import type { Request, Results } from "./protocol.js";

/** So few that other processes have their turn in between. */
const RETRIED_AT_ONCE = 200;

/** The dead letters of a file, through whoever is asked for them. */
export function deadLettersThrough(
  ask: <R extends Request>(request: R) => Promise<Results[R["do"]]>,
): Outbox["deadLetters"] {
  return {
    list: ({ limit = 100 } = {}) => ask({ do: "list", limit }),
    retry: async (id) => (await ask({ do: "retry", ids: [id] })) === 1,
    async retryAll() {
      const ids = await ask({ do: "dead ids" });
      let retried = 0;
      for (let from = 0; from < ids.length; from += RETRIED_AT_ONCE) {
        retried += await ask({ do: "retry", ids: ids.slice(from, from + RETRIED_AT_ONCE) });
      }
      return retried;
    },
    discard: (id) => ask({ do: "discard", id }),
  };
}
