import { randomUUID } from "node:crypto";
import { kindOfPriority } from "../../kinds.js";
import type { Clock } from "../../shared/clock.js";
import { isWithin, type Moment, momentBy } from "../lease.js";
import { type Capacity, type Claim, type Lane, UNTRIED, type Verdict } from "../outbox.js";
import { asciiJson } from "../sql/ascii-json.js";
import { inBatches } from "../sql/batch.js";
import type { Counts } from "../sql/counts.js";
import { type EventRow, eventOf } from "../sql/event-rows.js";
import type { OnDeath } from "../sql/eviction.js";
import { repeatWhereLost } from "../sql/lost-connection.js";
import type { Urgency } from "../urgency.js";
import { type Database, isLost } from "./database.js";
import { EVENT_COLUMNS, inMs } from "./rows.js";
import { stepsOf } from "./steps.js";
import { createSweep } from "./sweep.js";

export interface PostgresClaim extends Claim {
  readonly seq: string;
  readonly urgency: Urgency;
  readonly dueAt: number;
  /** When the request began that last claimed it or renewed its lease; `undefined` once another process has it. */
  leasedSince: Moment | undefined;
  isHeld(): boolean;
}

interface ClaimRow extends EventRow {
  readonly seq: string;
  /** The first is 1. */
  readonly lane_number: number;
  readonly urgency: number;
  readonly history: string | null;
  readonly interrupted: boolean;
  readonly queued_at: string;
  readonly due_at: string;
}

const CLAIMED_AT_ONCE = 1_000;
const SETTLED_AT_ONCE = 200;
// A share of the lease. The rest allows for clocks that do not run alike.
const SAFE_SHARE = 0.9;

/**
 * The claims of this process; it renews their leases while attempts are under way, and settles them.
 *
 * @param options.schema a quoted identifier.
 * @param options.onDeath called for each new dead letter.
 */
export function createClaims(
  database: Database,
  options: {
    schema: string;
    leaseMs: number;
    pollMs: number;
    counts: Counts;
    onDeath: OnDeath;
    clock: Clock;
  },
) {
  const { schema, leaseMs, pollMs, counts, onDeath, clock } = options;
  const worker = randomUUID();
  const sweep = createSweep(database, { schema, leaseMs, pollMs, clock });
  const lease = `${leaseMs} milliseconds`;
  const underWay = new Map<string, PostgresClaim>();
  // An outbox is started once, for one destination: all that it claims is of that.
  let destination = 0;
  let mayHaveLostOne = false;

  const claimText = `
    select lane_number, seq::text, urgency, ${EVENT_COLUMNS}, history::text, interrupted, ${inMs("queued_at")}, ${inMs("due_at")}
    from ${schema}.claim($1, $2, $3, $4, $5, $6, $7, $8, $9) as turn, lateral (select (turn.claimed).*) as event`;

  function claim(asked: Capacity): Promise<PostgresClaim[]> {
    destination = asked.destination;
    return repeatWhereLost(() => claimOnce(asked), isLost);
  }

  async function claimOnce({ limit, lanes }: Capacity): Promise<PostgresClaim[]> {
    if (mayHaveLostOne) await releaseLost();
    await sweep.ifDue(destination);
    const since = momentBy(clock);
    try {
      const rows = await database.queryOnce<ClaimRow>(claimText, [
        destination,
        worker,
        lease,
        Math.min(limit, CLAIMED_AT_ONCE),
        [...underWay.keys()],
        lanes.map((lane) => Math.min(lane.limit, CLAIMED_AT_ONCE)),
        JSON.stringify(stepsOf(lanes, sweep.since)),
        sweep.enteredUpTo,
        sweep.at,
      ]);
      const claims = rows.map((row) => claimOf(row, lanes[row.lane_number - 1] as Lane, since));
      for (const each of claims) underWay.set(each.seq, each);
      return claims;
    } catch (error) {
      mayHaveLostOne = true;
      throw error;
    }
  }

  function claimOf(row: ClaimRow, lane: Lane, since: Moment): PostgresClaim {
    const claimed: PostgresClaim = {
      seq: row.seq,
      event: eventOf(row, destination),
      lane,
      urgency: kindOfPriority(row.urgency),
      dueAt: Number(row.due_at),
      history: row.history === null ? UNTRIED : JSON.parse(row.history),
      interrupted: row.interrupted,
      queuedAt: Number(row.queued_at),
      leasedSince: since,
      isHeld: () =>
        claimed.leasedSince !== undefined && isWithin(SAFE_SHARE * leaseMs, claimed.leasedSince, clock),
    };
    return claimed;
  }

  /** Releases claims whose answer was lost: no attempt has begun, whatever their rows say. */
  async function releaseLost(): Promise<void> {
    await database.query(`select ${schema}.release_lost($1, $2, $3)`, [
      destination,
      worker,
      [...underWay.keys()],
    ]);
    sweep.include();
    mayHaveLostOne = false;
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
          const rows = await sweep.during(() => database.queryOnce<{ seq: string }>(settleText, values));
          const died = isRepeated
            ? await database.query<{ nth: number }>(diedText, [values[0], ids, deaths])
            : [];
          return new Set([...rows.map(({ seq }) => seq), ...died.map(({ nth }) => claims[nth - 1]?.seq)]);
        }, isLost);
      });
      for (const [{ seq, event, dueAt }, verdict] of settled) {
        underWay.delete(seq);
        if (verdict.type === "release") sweep.include(dueAt);
        if (!removed.has(seq)) continue;
        counts.add(destination, event.kind, -1);
        if (verdict.type === "dead") onDeath(event, verdict);
      }
      return settled.map(([{ seq }, { type }]) => type !== "dead" || removed.has(seq));
    },
    { max: SETTLED_AT_ONCE },
  );

  // Waits for no lock: a settlement has its rows in another order, and the two would wait for each other. A locked row is about
  // to be removed, or the next renewal finds it.
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
    /** An event that is due since then was stored, or is about to be. */
    include: sweep.include,
    /** Does work that may make events due, and notes since when. */
    during: sweep.during,
    /** A host's transaction was committed, of which an event is due since then. */
    hear: sweep.hear,
    /** Resolves to `false` where a dead letter was not made, because another process has the event. */
    settle: (claimed: PostgresClaim, verdict: Verdict): Promise<boolean> => settle([claimed, verdict]),
    /** Renews the leases of events under way, and notes which of them another process has taken over. */
    async renew(): Promise<void> {
      if (underWay.size === 0) return;
      const since = momentBy(clock);
      const claims = [...underWay.values()];
      const rows = await database.query<{ seq: string; is_renewed: boolean }>(renewText, [
        lease,
        claims.map(({ seq }) => seq),
        worker,
      ]);
      const found = new Map(rows.map(({ seq, is_renewed }) => [seq, is_renewed]));
      for (const each of claims) {
        const isRenewed = found.get(each.seq);
        if (isRenewed) each.leasedSince = since;
        else if (isRenewed === undefined) each.leasedSince = undefined;
      }
    },
  };
}

function deathJson({ type: _, ...death }: Verdict & { type: "dead" }): string {
  return asciiJson(death);
}
