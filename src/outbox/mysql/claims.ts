import { randomBytes } from "node:crypto";
import type { Clock } from "../../shared/clock.js";
import { isWithin, type Moment, momentBy } from "../lease.js";
import { type Capacity, type Claim, type Lane, UNTRIED } from "../outbox.js";
import type { Destinations } from "../sql/destinations.js";
import { type Chosen, choose, isNotLinedUp, partsOf, shuffled } from "./candidates.js";
import type { Database } from "./database.js";
import { begunBesides, type createLine } from "./line.js";
import { binary, due, integer, list, NOW } from "./literals.js";
import { EVENT_COLUMNS, type EventRow, eventOf, RELEASED } from "./rows.js";
import type { Search } from "./search.js";
import type { ServerTime } from "./server-time.js";
import { urgencyIn, urgencyOf } from "./urgency.js";

export interface MysqlClaim extends Claim {
  readonly seq: number;
  /** When the request began that last claimed or renewed it; `undefined` once another process has it. */
  heldSince: Moment | undefined;
  isHeld(): boolean;
}

interface ClaimRow extends EventRow {
  readonly urgency: number;
  readonly history: string | null;
  readonly interrupted: number;
  readonly queued_at: number;
  readonly contested: number | null;
}

export type Claims = ReturnType<typeof createClaims>;

const CLAIMED_AT_ONCE = 1_000;
// A share of the lease. The rest allows for clocks that do not run alike.
const SURELY_HELD = 0.9;
// After so many lost races in a row, the next wake claims.
const RACES = 5;
const SCATTER = 4;
// An event that was tried goes first. Without an order, each would give way to the other for ever.
const CONTESTS =
  "(other.tried > event.tried or (other.tried = event.tried and other.claimed_by is not null))";

/**
 * The claims of this process: taken, and kept alive while their deliveries are under way. No statement waits for another, or
 * leaves a lock behind: one reads candidates, one takes those that have not changed, one reads what was taken. Two processes may
 * take two events of one visitor at the same moment. So each then looks for another event of that visitor that was begun, and
 * gives its own back if there is one.
 */
export function createClaims(
  database: Database,
  options: {
    prefix: string;
    destinations: Destinations;
    line: ReturnType<typeof createLine>;
    search: Search;
    time: ServerTime;
    leaseMs: number;
    clock: Clock;
  },
) {
  const { prefix, destinations, line, search, time, leaseMs, clock } = options;
  const events = `\`${prefix}events\``;
  // Else the server may scan a small table, and would wait for the rows of the host's open transactions.
  const eventsBySeq = `${events} force index (primary)`;
  const worker = randomBytes(16).toString("hex");
  const self = binary(worker);
  const underWay = new Map<number, MysqlClaim>();
  // An outbox is started once, for one destination: all that it claims is of that.
  let destination = "";
  let mayHaveLostOne = false;

  async function claim(capacity: Capacity): Promise<MysqlClaim[]> {
    destination = capacity.destination;
    if (mayHaveLostOne) await releaseLost();
    try {
      return await claimFrom(capacity);
    } catch (error) {
      mayHaveLostOne = true;
      throw error;
    }
  }

  async function claimFrom(capacity: Capacity): Promise<MysqlClaim[]> {
    let parts = partsOf(capacity, CLAIMED_AT_ONCE);
    let left = Math.min(capacity.limit, CLAIMED_AT_ONCE);
    const leftOf = new Map(capacity.lanes.map((lane) => [lane, lane.limit]));
    const claims: MysqlClaim[] = [];
    for (let races = 0; parts.length > 0 && left > 0 && races < RACES; ) {
      const found = await search(parts, {
        destination,
        held: [...underWay.keys(), ...claims.map(({ seq }) => seq)],
      });
      // After a lost race not the oldest events, which the other processes want too.
      const candidates = races === 0 ? found : shuffled(found);
      const { chosen, behind, rest } = choose(parts, candidates, {
        limit: left,
        leftOf: new Map(leftOf),
        most: CLAIMED_AT_ONCE,
      });
      const taken = await take(chosen);
      for (const each of taken) {
        left--;
        leftOf.set(each.lane, (leftOf.get(each.lane) as number) - 1);
      }
      claims.push(...taken);
      await line.park(behind);
      const done = new Set([...chosen, ...behind].map(({ seq }) => Number(seq)));
      await line.lineUp(found.filter((each) => isNotLinedUp(each, parts) && !done.has(Number(each.seq))));
      if (taken.length === chosen.length) {
        parts = rest;
        continue;
      }
      races++;
      for (const part of parts) part.look = Math.min(SCATTER * part.look, CLAIMED_AT_ONCE);
    }
    // Only now: a claim whose request fails is not delivered, and has to be released.
    for (const each of claims) underWay.set(each.seq, each);
    return claims;
  }

  async function take(chosen: readonly Chosen[]): Promise<MysqlClaim[]> {
    if (chosen.length === 0) return [];
    const since = momentBy(clock);
    const seqs = list(chosen.map(({ seq }) => String(seq)));
    const resting = list(chosen.filter(({ isResting }) => isResting).map(({ seq }) => String(seq)));
    // If this worker has claimed it already, the answer to that claim was lost, and nothing was sent.
    await database.write(
      `update ${eventsBySeq} set
         interrupted = (interrupted = 1 or (claimed_by is not null and claimed_by <> ${self})),
         claimed_by = ${self}, ${due(`${NOW} + ${integer(leaseMs)}`)}, urgency = ${urgencyIn()}
       where seq in (${seqs}) and state = 'queued'
         and (if(claimed_by is null, due_at <= ${NOW}, due_at <= ${time.leaseEnd})
           or (due_at is not null and claimed_by is null and seq in (${resting})))`,
    );
    const rows = await database.rows<ClaimRow>(
      `select ${EVENT_COLUMNS}, urgency, history, interrupted, queued_at,
         ${begunBesides(prefix, "event", CONTESTS)} as contested
       from ${events} as event where seq in (${seqs}) and state = 'queued' and claimed_by = ${self}`,
    );
    await giveBack(rows.filter(({ contested }) => contested !== null));
    const bySeq = new Map(rows.map((row) => [Number(row.seq), row]));
    const claims: MysqlClaim[] = [];
    for (const { seq, lane } of chosen) {
      const row = bySeq.get(Number(seq));
      if (!row || row.contested !== null) continue;
      const claimed = claimOf(row, lane, since);
      claims.push(claimed);
    }
    return claims;
  }

  /** Another event of the visitor was begun at the same moment. */
  async function giveBack(rows: readonly ClaimRow[]): Promise<void> {
    if (rows.length === 0) return;
    const seqs = rows.map(({ seq }) => Number(seq));
    await database.write(
      `update ${eventsBySeq} set claimed_by = null, ${due(RELEASED)}
       where seq in (${list(seqs.map(String))}) and state = 'queued' and claimed_by = ${self}`,
    );
    await line.park(rows);
    await line.advance(rows.map((row) => eventOf(row, destination)));
  }

  function claimOf(row: ClaimRow, lane: Lane, since: Moment): MysqlClaim {
    const claimed: MysqlClaim = {
      seq: Number(row.seq),
      event: eventOf(row, destination),
      lane,
      urgency: urgencyOf(row.urgency),
      history: row.history === null ? UNTRIED : JSON.parse(row.history),
      interrupted: Number(row.interrupted) === 1,
      queuedAt: Number(row.queued_at),
      heldSince: since,
      isHeld: () =>
        claimed.heldSince !== undefined && isWithin(SURELY_HELD * leaseMs, claimed.heldSince, clock),
    };
    return claimed;
  }

  /** A claim whose answer was lost was not acted on: no attempt has begun, whatever its row says. */
  async function releaseLost(): Promise<void> {
    const rows = await database.rows<{ seq: number }>(
      `select seq from ${events}
       where state = 'queued' and destination = ${destinations.numberOf(destination)} and claimed_by = ${self}`,
    );
    const lost = rows.filter(({ seq }) => !underWay.has(Number(seq)));
    await database.write(
      `update ${eventsBySeq} set claimed_by = null, ${due(RELEASED)}
       where seq in (${list(lost.map(({ seq }) => String(seq)))}) and state = 'queued' and claimed_by = ${self}`,
    );
    mayHaveLostOne = false;
  }

  /** Waits for no lock: what is locked is on its way out, or the next renewal finds it. */
  async function renewUnlocked(own: string): Promise<Set<number>> {
    return database.transact(async ({ rows, write }) => {
      const unlocked = await rows<{ seq: number }>(
        `select seq from ${eventsBySeq} where ${own} order by seq for update skip locked`,
      );
      const seqs = unlocked.map(({ seq }) => Number(seq));
      await write(
        `update ${eventsBySeq} set ${due(`${NOW} + ${integer(leaseMs)}`)} where seq in (${list(seqs.map(String))})`,
      );
      return new Set(seqs);
    });
  }

  return {
    claim,
    self,
    underWay,
    /** Puts off the end of the leases of what is under way, and finds out what another process has taken over. */
    async renew(): Promise<void> {
      if (underWay.size === 0) return;
      const since = momentBy(clock);
      const claims = [...underWay.values()];
      const own = `seq in (${list(claims.map(({ seq }) => String(seq)))}) and state = 'queued' and claimed_by = ${self}`;
      const renewed = await renewUnlocked(own);
      const rows = await database.rows<{ seq: number }>(`select seq from ${events} where ${own}`);
      const mine = new Set(rows.map(({ seq }) => Number(seq)));
      for (const each of claims) {
        if (!mine.has(each.seq)) each.heldSince = undefined;
        else if (renewed.has(each.seq)) each.heldSince = since;
      }
    },
  };
}
