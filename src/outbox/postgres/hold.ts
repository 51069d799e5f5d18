import { HELD } from "../dead-letters.js";
import type { SqlDialect } from "../sql/dialect.js";
import type { Database } from "./database.js";

export function createHold({ query, schema }: Database): SqlDialect<never>["holding"] {
  return {
    async leasedForMs() {
      const [row] = await query<{ ms: string | null }>(
        `select (extract(epoch from max(claimed_until) - now()) * 1000)::bigint::text as ms from ${schema}.events
         where claimed_until > now()`,
      );
      return row?.ms ?? null;
    },
    async hold(limit) {
      const values = [JSON.stringify(HELD), limit];
      const [row] = await query<{ held: number }>(`select ${schema}.hold($1, $2) as held`, values);
      return row?.held ?? 0;
    },
  };
}
