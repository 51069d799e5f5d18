import { randomUUID } from "node:crypto";
import type { OutboxEvent } from "../../conversion/events.js";
import { priorityOf } from "../../conversion/kinds.js";
import { endpointOf } from "../../service/endpoints.js";
import type { Clock } from "../../shared/clock.js";
import type { Capacity, Lane, Verdict } from "../claim.js";
import { momentBy } from "../lease.js";
import { asciiJson } from "../sql/ascii-json.js";
import { inBatches } from "../sql/batch.js";
import type { Counts } from "../sql/counts.js";
import type { OnDeath } from "../sql/eviction.js";
import { type ClaimRow, createLeases, type LeasedClaim } from "../sql/leases.js";
import { repeatWhereLost } from "../sql/lost-connection.js";
import { ServerClock } from "../sql/server-clock.js";
import { type Database, isLost } from "./database.js";
import { EVENT_COLUMNS, inMs } from "./rows.js";
import { createScanStarts, type NextClaim } from "./scan-starts.js";
import { createSetRight } from "./set-right.js";
import { stepsOf } from "./steps.js";

export interface PostgresClaim extends LeasedClaim {
  readonly dueAt: number;
}

interface ClaimedRow extends ClaimRow {
  /** In the last row, which has nothing else: a `NextClaim` in JSON. */
  readonly next: string | null;
  /** The first is 1. */
  readonly lane_number: number;
  readonly due_at: string;
}

const CLAIMED_AT_ONCE = 1_000;
const SETTLED_AT_ONCE = 200;

/** Claims events, renews their leases while attempts are under way, and settles them. */
export function createClaims(
  database: Database,
  options: { leaseMs: number; pollMs: number; counts: Counts; onDeath: OnDeath; clock: Clock },
) {
  const { leaseMs, pollMs, counts, onDeath, clock } = options;
  const { schema } = database;
  const worker = randomUUID();
  const scans = createScanStarts({ pollMs, clock });
  const serverClock = new ServerClock(clock, leaseMs);
  const setRight = createSetRight(database);
  const lease = `${leaseMs} milliseconds`;
  const { underWay, claimOf, renew } = createLeases<PostgresClaim>(options);
  // An outbox is started once, for one destination.
  let destination = 0;
  let wasSetBack = false;

  const claimText = `
    select next::text, lane_number, seq::text, urgency, ${EVENT_COLUMNS}, history::text, interrupted, ${inMs("queued_at")}, ${inMs("due_at")}
    from ${schema}.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as turn, lateral (select (turn.claimed).*) as event`;

  function claim(asked: Capacity): Promise<PostgresClaim[]> {
    destination = asked.destination;
    return repeatWhereLost(() => claimOnce(asked), isLost);
  }

  async function claimOnce({ limit, lanes }: Capacity): Promise<PostgresClaim[]> {
    if (wasSetBack) await setRight(destination);
    wasSetBack = false;
    const askedAt = clock.monotonic();
    const since = momentBy(clock);
    const starts = scans.next();
    const steps = stepsOf(lanes, starts.of);
    try {
      const rows = await database.queryOnce<ClaimedRow>(claimText, [
        destination,
        worker,
        lease,
        Math.min(limit, CLAIMED_AT_ONCE),
        [...underWay.keys()],
        lanes.map((lane) => Math.min(lane.limit, CLAIMED_AT_ONCE)),
        JSON.stringify(steps),
        starts.toEnter,
        starts.at,
        serverClock.latest,
      ]);
      const next: NextClaim = JSON.parse(rows.pop()?.next as string);
      scans.found(next, steps);
      wasSetBack = serverClock.tell(next.at, askedAt);
      const claims = rows.map((row): PostgresClaim => {
        const claimed = claimOf(row, destination, lanes[row.lane_number - 1] as Lane, since);
        return Object.assign(claimed, { dueAt: Number(row.due_at) });
      });
      for (const each of claims) underWay.set(each.seq, each);
      return claims;
    } catch (error) {
      scans.forget();
      throw error;
    }
  }

  const settleText = `select seq::text from ${schema}.settle($1, $2, $3, $4, $5, $6, $7, $8) as seq`;

  // Dead letters of the request before, whose answer was lost.
  const diedText = `
    select nth::integer from unnest($2::uuid[], $3::text[]) with ordinality as given_up (id, death, nth)
    join ${schema}.dead_letters as letter on letter.destination = $1 and letter.id = given_up.id
    where letter.death::text = given_up.death`;

  const settle = inBatches<[PostgresClaim, Verdict], boolean>(
    async (settled) => {
      const claims = settled.map(([each]) => each);
      const verdicts = settled.map(([, verdict]) => verdict);
      const leaving = settled
        .filter(([, { type }]) => type === "delivered" || type === "dead")
        .map(([{ event }]) => event);
      const removed = await counts.removing(leaving, async () => {
        const ids = claims.map(({ event }) => event.id);
        const deaths = verdicts.map((verdict) => (verdict.type === "dead" ? deathJson(verdict) : null));
        const values = [
          destination,
          worker,
          claims.map(({ seq }) => seq),
          ids,
          verdicts.map((verdict) => (verdict.type === "dead" ? verdict.reason : verdict.type)),
          verdicts.map((verdict) => (verdict.type === "retry" ? verdict.inMs : 0)),
          verdicts.map((verdict) => (verdict.type === "retry" ? asciiJson(verdict.history) : null)),
          deaths,
        ];
        return repeatWhereLost(async (isRepeated) => {
          const rows = await scans.during(() => database.queryOnce<{ seq: string }>(settleText, values));
          const died = isRepeated
            ? await database.query<{ nth: number }>(diedText, [values[0], ids, deaths])
            : [];
          return new Set([
            ...rows.map(({ seq }) => Number(seq)),
            ...died.map(({ nth }) => claims[nth - 1]?.seq),
          ]);
        }, isLost);
      });
      for (const [{ seq, event, lane, dueAt }, verdict] of settled) {
        underWay.delete(seq);
        // All scans of its endpoint: it may have become more urgent meanwhile.
        if (verdict.type === "release") scans.include(dueAt, `${lane.endpoint} `);
        if (!removed.has(seq)) continue;
        counts.add(destination, event.kind, -1);
        if (verdict.type === "dead") onDeath(event, verdict);
      }
      return settled.map(([{ seq }, { type }]) => type !== "dead" || removed.has(seq));
    },
    { max: SETTLED_AT_ONCE },
  );

  // Waits for no lock: a settlement locks in another order, and the two would deadlock. A locked
  // row is about to be removed, or the next renewal finds it.
  const renewText = `
    with mine as materialized (
      select seq from ${schema}.events where seq = any ($2) and claimed_by = $3
    ), unlocked as materialized (
      select seq from ${schema}.events where seq = any ($2) and claimed_by = $3 for update skip locked
    ), renewed as (
      update ${schema}.events as event set claimed_until = now() + $1::interval, written_at = now() from unlocked
      where event.seq = unlocked.seq and event.seq = any ($2)
      returning event.seq
    )
    select seq::text, renewed.seq is not null as is_renewed from mine left join renewed using (seq)`;

  return {
    claim,
    /** An event was stored. */
    include: (event: OutboxEvent) =>
      scans.include(event.createdAt, `${endpointOf(event)} ${priorityOf(event.kind)} `),
    during: scans.during,
    committed: scans.committed,
    /** `false`: no dead letter was made, because another process has the event. */
    settle: (claimed: PostgresClaim, verdict: Verdict): Promise<boolean> => settle([claimed, verdict]),
    renew: () =>
      renew(async (claims) => {
        const seqs = claims.map(({ seq }) => seq);
        const rows = await database.query<{ seq: string; is_renewed: boolean }>(renewText, [
          lease,
          seqs,
          worker,
        ]);
        return new Map(rows.map(({ seq, is_renewed }) => [Number(seq), is_renewed]));
      }),
  };
}

function deathJson({ type: _, ...death }: Verdict & { type: "dead" }): string {
  return asciiJson(death);
}
