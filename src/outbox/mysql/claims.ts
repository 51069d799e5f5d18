import { randomBytes } from "node:crypto";
import type { Clock } from "../../shared/clock.js";
import type { Capacity } from "../claim.js";
import { momentBy } from "../lease.js";
import { eventOf } from "../sql/event-rows.js";
import { type ClaimRow, createLeases, type LeasedClaim } from "../sql/leases.js";
import { type Chosen, choose, hasNotEntered, partsOf, shuffled } from "./candidates.js";
import type { Database } from "./database.js";
import { binary, due, integer, isOneOf, NOW } from "./literals.js";
import type { Periods } from "./periods.js";
import { EVENT_COLUMNS, RELEASED } from "./rows.js";
import type { Search } from "./search.js";
import type { ServerTime } from "./server-time.js";
import { urgencyIn } from "./urgency.js";
import { begunBesides, type createVisitorQueue } from "./visitor-queue.js";

interface ContestedRow extends ClaimRow {
  readonly seq: number;
  readonly contested: number | null;
}

export type Claims = ReturnType<typeof createClaims>;

const CLAIMED_AT_ONCE = 1_000;
// After so many lost races in a row, the next wake claims.
const RACES = 5;
const SCATTER = 4;
// An event that was tried goes first. Without an order, each would be released for the other for
// ever.
const CONTESTS =
  "(other.tried > event.tried or (other.tried = event.tried and other.claimed_by is not null))";

/**
 * The claims of this process, and the renewal of their leases. No statement waits for another or
 * leaves a lock behind: one reads candidates, one claims those that have not changed, one reads
 * what was claimed. Two processes may claim events of one visitor at once; so each then looks for
 * another claimed or tried event of that visitor, and releases its own if there is one.
 */
export function createClaims(
  database: Database,
  options: {
    queue: ReturnType<typeof createVisitorQueue>;
    search: Search;
    periods: Periods;
    time: ServerTime;
    leaseMs: number;
    clock: Clock;
  },
) {
  const { queue, search, periods, time, leaseMs, clock } = options;
  const { prefix, events, eventsBySeq } = database;
  const self = binary(randomBytes(16).toString("hex"));
  const { underWay, claimOf, renew } = createLeases(options);
  const isOwn = `state = 'queued' and claimed_by = ${self}`;
  // An outbox is started once, for one destination: all claims are of that.
  let destination = 0;
  let mayHaveLostOne = false;

  async function claim(capacity: Capacity): Promise<LeasedClaim[]> {
    destination = capacity.destination;
    if (mayHaveLostOne) await releaseLost();
    try {
      return await claimFrom(capacity);
    } catch (error) {
      mayHaveLostOne = true;
      throw error;
    }
  }

  async function claimFrom(capacity: Capacity): Promise<LeasedClaim[]> {
    let parts = partsOf(capacity, CLAIMED_AT_ONCE);
    let left = Math.min(capacity.limit, CLAIMED_AT_ONCE);
    const leftOf = new Map(capacity.lanes.map((lane) => [lane, lane.limit]));
    const claims: LeasedClaim[] = [];
    for (let races = 0; parts.length > 0 && left > 0 && races < RACES; ) {
      const found = await search(parts, {
        destination,
        claimedHere: [...underWay.keys(), ...claims.map(({ seq }) => seq)],
      });
      // After a lost race not the oldest, which the other processes want too.
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
      // An event that came during the search and waits enters its queue in the next one.
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
    // Only now: after a failure, a claim is not delivered, and has to be released.
    for (const each of claims) underWay.set(each.seq, each);
    return claims;
  }

  async function take(chosen: readonly Chosen[]): Promise<LeasedClaim[]> {
    if (chosen.length === 0) return [];
    const since = momentBy(clock);
    // If this worker has claimed one already, the answer to that claim was lost, and nothing was
    // sent.
    await database.write(
      `update ${eventsBySeq} set
         interrupted = (interrupted = 1 or (claimed_by is not null and claimed_by <> ${self})),
         claimed_by = ${self}, ${due(`${NOW} + ${integer(leaseMs)}`)}, urgency = ${urgencyIn()}
       where ${isOneOf(chosen)} and state = 'queued'
         and (if(claimed_by is null, due_at <= ${NOW}, due_at <= ${time.leaseEnd})
           or (due_at is not null and claimed_by is null and ${isOneOf(chosen.filter(({ isResting }) => isResting))}))`,
    );
    const rows = await database.rows<ContestedRow>(
      `select ${EVENT_COLUMNS}, urgency, history, interrupted, queued_at,
         ${begunBesides(prefix, "event", CONTESTS)} as contested
       from ${events} as event where ${isOneOf(chosen)} and ${isOwn}`,
    );
    await releaseContested(rows.filter(({ contested }) => contested !== null));
    const bySeq = new Map(rows.map((row) => [Number(row.seq), row]));
    const claims: LeasedClaim[] = [];
    for (const { seq, lane } of chosen) {
      const row = bySeq.get(Number(seq));
      if (!row || row.contested !== null) continue;
      claims.push(claimOf(row, destination, lane, since));
    }
    return claims;
  }

  /** Releases events whose visitor has another that was claimed at the same moment. */
  async function releaseContested(rows: readonly ContestedRow[]): Promise<void> {
    if (rows.length === 0) return;
    await giveBack(rows);
    for (const { queued_at } of rows) periods.include(Number(queued_at));
    await queue.park(rows);
    await queue.advance(rows.map((row) => eventOf(row, destination)));
  }

  /** Releases claims untried. */
  function giveBack(claims: readonly { readonly seq: number }[]): Promise<number> {
    return database.write(
      `update ${eventsBySeq} set claimed_by = null, ${due(RELEASED)} where ${isOneOf(claims)} and ${isOwn}`,
    );
  }

  /** Releases claims whose answer was lost: no attempt has begun. */
  async function releaseLost(): Promise<void> {
    const rows = await database.rows<{ seq: number }>(
      `select seq from ${events} where destination = ${destination} and ${isOwn}`,
    );
    await giveBack(rows.filter(({ seq }) => !underWay.has(Number(seq))));
    periods.includeAll();
    mayHaveLostOne = false;
  }

  /** Skips locked rows: they are about to be removed, or the next renewal finds them. */
  async function renewUnlocked(own: string): Promise<Set<number>> {
    return database.transact(async ({ rows, write }) => {
      const unlocked = await rows<{ seq: number }>(
        `select seq from ${eventsBySeq} where ${own} order by seq for update skip locked`,
      );
      await write(
        `update ${eventsBySeq} set ${due(`${NOW} + ${integer(leaseMs)}`)} where ${isOneOf(unlocked)}`,
      );
      return new Set(unlocked.map(({ seq }) => Number(seq)));
    });
  }

  return {
    claim,
    underWay,
    /** SQL: this process has it. */
    isOwn,
    giveBack,
    /** Renews leases of events under way, and notes which another process has taken over. */
    renew: () =>
      renew(async (claims) => {
        const own = `${isOneOf(claims)} and ${isOwn}`;
        const renewed = await renewUnlocked(own);
        const rows = await database.rows<{ seq: number }>(`select seq from ${events} where ${own}`);
        return new Map(rows.map(({ seq }) => [Number(seq), renewed.has(Number(seq))]));
      }),
  };
}
