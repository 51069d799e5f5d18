import { randomUUID } from "node:crypto";
import type { LiveEvent, Verdict } from "../outbox.js";
import { inBatches } from "./batch.js";
import type { Census } from "./census.js";
import type { Database } from "./database.js";
import { asciiJson, EVENT_COLUMNS, type EventRow, eventOf, inMs } from "./rows.js";

export interface PostgresClaim extends LiveEvent {
  readonly seq: string;
}

interface ClaimRow extends EventRow {
  readonly seq: string;
  readonly attempts: number;
  readonly maybe_taken: boolean;
  readonly interrupted: boolean;
  readonly queued_at: string;
}

const SETTLED_AT_ONCE = 200;

/**
 * The claims of this process: taken, kept alive while their deliveries are under way, and settled.
 *
 * @param options.schema a quoted identifier.
 * @param options.onDeath hears of each new dead letter.
 */
export function createClaims(
  database: Database,
  options: { schema: string; leaseMs: number; census: Census; onDeath: () => void },
) {
  const { schema, leaseMs, census, onDeath } = options;
  const worker = randomUUID();
  const lease = `${leaseMs} milliseconds`;
  const underWay = new Map<string, PostgresClaim>();
  let mayHaveLostOne = false;

  const claimText = `
    select seq::text, ${EVENT_COLUMNS}, attempts, maybe_taken, interrupted, ${inMs("queued_at")}
    from ${schema}.claim($1, $2, $3)`;

  async function claim(limit: number): Promise<PostgresClaim[]> {
    if (mayHaveLostOne) await releaseLost();
    try {
      const rows = await database.query<ClaimRow>(claimText, [worker, Math.min(limit, 1_000), lease]);
      const claims = rows.map(claimOf);
      for (const each of claims) underWay.set(each.seq, each);
      return claims;
    } catch (error) {
      mayHaveLostOne = true;
      throw error;
    }
  }

  /** Nobody was told of a claim whose answer was lost: no attempt has begun, whatever its row says. */
  async function releaseLost(): Promise<void> {
    await database.query(
      `update ${schema}.events set claimed_by = null, due_at = now()
       where claimed_by = $1 and seq <> all ($2)`,
      [worker, [...underWay.keys()]],
    );
    mayHaveLostOne = false;
  }

  const settleText = `select seq::text from ${schema}.settle($1, $2, $3, $4, $5, $6, $7) as seq`;

  const settle = inBatches<[PostgresClaim, Verdict], void>(async (settled) => {
    const claims = settled.map(([each]) => each);
    const verdicts = settled.map(([, verdict]) => verdict);
    const removed = await census.during(async () => {
      const rows = await database.query<{ seq: string }>(settleText, [
        worker,
        claims.map(({ seq }) => seq),
        claims.map(({ event }) => event.id),
        verdicts.map((verdict) => (verdict.is === "dead" ? verdict.reason : verdict.is)),
        verdicts.map((verdict) => (verdict.is === "retry" ? verdict.inMs : 0)),
        verdicts.map((verdict) => "maybeTaken" in verdict && verdict.maybeTaken),
        verdicts.map((verdict) => (verdict.is === "dead" ? deathJson(verdict) : null)),
      ]);
      return new Set(rows.map(({ seq }) => seq));
    });
    for (const [{ seq, event }, verdict] of settled) {
      underWay.delete(seq);
      if (!removed.has(seq)) continue;
      census.add(event.kind, -1);
      if (verdict.is !== "dead") continue;
      census.add(verdict.reason, 1);
      onDeath();
    }
    return [];
  }, SETTLED_AT_ONCE);

  return {
    claim,
    settle: (claimed: PostgresClaim, verdict: Verdict): Promise<void> => settle([claimed, verdict]),
    /** Puts off the end of the leases of what is under way. */
    async renew(): Promise<void> {
      if (underWay.size === 0) return;
      await database.query(
        `update ${schema}.events set due_at = now() + $1::interval where seq = any ($2) and claimed_by = $3`,
        [lease, [...underWay.keys()], worker],
      );
    },
  };
}

function claimOf(row: ClaimRow): PostgresClaim {
  const { seq, attempts, maybe_taken: maybeTaken, interrupted, queued_at } = row;
  return { seq, event: eventOf(row), attempts, maybeTaken, interrupted, queuedAt: Number(queued_at) };
}

function deathJson({ is: _, ...death }: Verdict & { is: "dead" }): string {
  return asciiJson(death);
}
