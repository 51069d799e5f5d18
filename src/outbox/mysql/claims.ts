import { randomBytes } from "node:crypto";
import { kindOfPriority } from "../../kinds.js";
import type { Clock } from "../../shared/clock.js";
import { isWithin, type Moment, momentBy } from "../lease.js";
import { type Capacity, type Claim, type Lane, UNTRIED } from "../outbox.js";
import { type EventRow, eventOf } from "../sql/event-rows.js";
import { type Chosen, choose, hasNotEntered, partsOf, shuffled } from "./candidates.js";
import type { Database } from "./database.js";
import { binary, due, integer, listOf, NOW } from "./literals.js";
import { EVENT_COLUMNS, RELEASED } from "./rows.js";
import type { Search } from "./search.js";
import type { ServerTime } from "./server-time.js";
import type { Sweep } from "./sweep.js";
import { urgencyIn } from "./urgency.js";
import { begunBesides, type createVisitorQueue } from "./visitor-queue.js";

export interface MysqlClaim extends Claim {
  readonly seq: number;
  /** When the request began that last claimed it or renewed its lease; `undefined` once another process has it. */
  leasedSince: Moment | undefined;
  isHeld(): boolean;
}

interface ClaimRow extends EventRow {
  readonly seq: number;
  readonly urgency: number;
  readonly history: string | null;
  readonly interrupted: number;
  readonly queued_at: number;
  readonly contested: number | null;
}

export type Claims = ReturnType<typeof createClaims>;

const CLAIMED_AT_ONCE = 1_000;
// A share of the lease. The rest allows for clocks that do not run alike.
const SAFE_SHARE = 0.9;
// After so many lost races in a row, the next wake claims.
const RACES = 5;
const SCATTER = 4;
// An event that was tried goes first. Without an order, each would release itself for the other for ever.
const CONTESTS =
  "(other.tried > event.tried or (other.tried = event.tried and other.claimed_by is not null))";

/**
 * The claims of this process; it renews their leases while attempts are under way. No statement waits for another or leaves a
 * lock behind: one reads candidates, one claims those that have not changed, one reads what was claimed. Two processes may
 * claim two events of one visitor at the same moment. So each then looks for another claimed or tried event of that visitor,
 * and releases its own if there is one.
 */
export function createClaims(
  database: Database,
  options: {
    prefix: string;
    queue: ReturnType<typeof createVisitorQueue>;
    search: Search;
    sweep: Sweep;
    time: ServerTime;
    leaseMs: number;
    clock: Clock;
  },
) {
  const { prefix, queue, search, sweep, time, leaseMs, clock } = options;
  const events = `\`${prefix}events\``;
  // Else the server may scan a small table, and would wait for the rows of the host's open transactions.
  const eventsBySeq = `${events} force index (primary)`;
  const worker = randomBytes(16).toString("hex");
  const self = binary(worker);
  const underWay = new Map<number, MysqlClaim>();
  // An outbox is started once, for one destination: all that it claims is of that.
  let destination = 0;
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
        claimedHere: [...underWay.keys(), ...claims.map(({ seq }) => seq)],
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
      // An event that came during the search, and waits behind another, enters its queue in the next search, many together.
      await queue.park(behind.filter((each) => !hasNotEntered(each, parts)));
      const taking = new Set(chosen.map(({ seq }) => Number(seq)));
      const heads = found.filter((each) => hasNotEntered(each, parts) && each.before === null);
      await queue.enter(heads.filter(({ seq }) => !taking.has(Number(seq))));
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
    const seqs = listOf(chosen.map(({ seq }) => String(seq)));
    const resting = listOf(chosen.filter(({ isResting }) => isResting).map(({ seq }) => String(seq)));
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
    await releaseContested(rows.filter(({ contested }) => contested !== null));
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

  /** Releases events whose visitor has another event that was claimed at the same moment. */
  async function releaseContested(rows: readonly ClaimRow[]): Promise<void> {
    if (rows.length === 0) return;
    const seqs = rows.map(({ seq }) => Number(seq));
    await database.write(
      `update ${eventsBySeq} set claimed_by = null, ${due(RELEASED)}
       where seq in (${listOf(seqs.map(String))}) and state = 'queued' and claimed_by = ${self}`,
    );
    for (const { queued_at } of rows) sweep.include(Number(queued_at));
    await queue.park(rows);
    await queue.advance(rows.map((row) => eventOf(row, destination)));
  }

  function claimOf(row: ClaimRow, lane: Lane, since: Moment): MysqlClaim {
    const claimed: MysqlClaim = {
      seq: Number(row.seq),
      event: eventOf(row, destination),
      lane,
      urgency: kindOfPriority(Number(row.urgency)),
      history: row.history === null ? UNTRIED : JSON.parse(row.history),
      interrupted: Number(row.interrupted) === 1,
      queuedAt: Number(row.queued_at),
      leasedSince: since,
      isHeld: () =>
        claimed.leasedSince !== undefined && isWithin(SAFE_SHARE * leaseMs, claimed.leasedSince, clock),
    };
    return claimed;
  }

  /** Releases claims whose answer was lost: no attempt has begun, whatever their rows say. */
  async function releaseLost(): Promise<void> {
    const rows = await database.rows<{ seq: number }>(
      `select seq from ${events}
       where state = 'queued' and destination = ${destination} and claimed_by = ${self}`,
    );
    const lost = rows.filter(({ seq }) => !underWay.has(Number(seq)));
    await database.write(
      `update ${eventsBySeq} set claimed_by = null, ${due(RELEASED)}
       where seq in (${listOf(lost.map(({ seq }) => String(seq)))}) and state = 'queued' and claimed_by = ${self}`,
    );
    sweep.includeAll();
    mayHaveLostOne = false;
  }

  /** Waits for no lock: a locked row is about to be removed, or the next renewal finds it. */
  async function renewUnlocked(own: string): Promise<Set<number>> {
    return database.transact(async ({ rows, write }) => {
      const unlocked = await rows<{ seq: number }>(
        `select seq from ${eventsBySeq} where ${own} order by seq for update skip locked`,
      );
      const seqs = unlocked.map(({ seq }) => Number(seq));
      await write(
        `update ${eventsBySeq} set ${due(`${NOW} + ${integer(leaseMs)}`)} where seq in (${listOf(seqs.map(String))})`,
      );
      return new Set(seqs);
    });
  }

  return {
    claim,
    self,
    underWay,
    /** Renews the leases of events under way, and notes which of them another process has taken over. */
    async renew(): Promise<void> {
      if (underWay.size === 0) return;
      const since = momentBy(clock);
      const claims = [...underWay.values()];
      const own = `seq in (${listOf(claims.map(({ seq }) => String(seq)))}) and state = 'queued' and claimed_by = ${self}`;
      const renewed = await renewUnlocked(own);
      const rows = await database.rows<{ seq: number }>(`select seq from ${events} where ${own}`);
      const mine = new Set(rows.map(({ seq }) => Number(seq)));
      for (const each of claims) {
        if (!mine.has(each.seq)) each.leasedSince = undefined;
        else if (renewed.has(each.seq)) each.leasedSince = since;
      }
    },
  };
}
