import type { OutboxEvent } from "../../events.js";
import { type Endpoint, endpointOf, kindOf } from "../../service/endpoints.js";
import { type Capacity, type History, type Lane, UNTRIED } from "../outbox.js";
import { URGENCIES, type Urgency } from "../urgency.js";
import type { Destinations } from "./destinations.js";
import type { Direct, Holdings } from "./holdings.js";
import { createLaneClaims, type Row } from "./lane-claims.js";
import type { Lines } from "./lines.js";
import type { Claimed, DiskClaim } from "./protocol.js";
import { eventOf, parsedOf, rankOf } from "./rows.js";
import { BEHIND } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";

export const STATEMENTS = {
  // One that is more urgent than its kind may have become so since it was claimed.
  release: `
    update events set ready_at = case when tried or urgency > ?4 then ?3 else queued_at end where seq = ?1 and id = ?2
    returning destination, endpoint, urgency`,
  // What another process has taken over from one that never sent it.
  clear: "update events set interrupted = 0 where seq = ? and id = ?",
  rest: `
    update events set interrupted = 0, tried = 1, history = ?3, ready_at = ?4 where seq = ?1 and id = ?2`,
  placeOf: `
    select seq from events where seq in (select value from json_each(?)) and id = ? and destination = ?`,
  nextReady: `
    select ready_at from events
    where destination = ? and ready_at < ${BEHIND} and tried = 1 and ready_at > ? order by ready_at limit 1`,
  anyTried: "select 1 from events where destination = ? and tried = 1 limit 1",
} as const;

/** The lanes as they are served: for each urgency in turn, but that of no more urgent kind. */
function inTurn(lanes: readonly Lane[]): { readonly lane: Lane; readonly urgency: Urgency }[] {
  return URGENCIES.flatMap((urgency) =>
    lanes
      .filter(({ endpoint }) => rankOf(kindOf(endpoint)) <= rankOf(urgency))
      .map((lane) => ({ lane, urgency })),
  );
}

/** What may be claimed from one lane, and still is to be. */
interface Share {
  readonly lane: Lane;
  left: number;
}

export type Claims = ReturnType<typeof createClaims>;

/** Takes events whose turn it is, and gives them back. One that is at the head of its visitor's line has a time at which it is ready. */
export function createClaims(
  db: Database,
  parts: {
    state: State;
    destinations: Destinations;
    totals: Totals;
    holdings: Holdings;
    lines: Lines;
    unreadable: Unreadable;
    owner: string;
  },
) {
  const { state, destinations, totals, holdings, lines, unreadable, owner } = parts;
  const { release, clear, rest, placeOf, nextReady, anyTried } = prepareAll(db, STATEMENTS);
  const fromLane = createLaneClaims(db, { holdings, lines, owner, hasTried });
  /** The destination that was last claimed for: it is for its events that this process waits. */
  let own: string | undefined;
  let more = false;
  /** Whether an event of that destination was tried; `undefined`: not known, the file can tell. */
  let tried: boolean | undefined;

  function hasTried(destination: number): boolean {
    tried ??= anyTried.get(destination) !== undefined;
    return tried;
  }

  return {
    /**
     * Claims events that are in the file, and says which of those that come in the same transaction may be stored as
     * claimed: those are marked once and not twice.
     *
     * @param coming how many of them each endpoint has.
     */
    begin(
      { destination, limit, lanes }: Capacity,
      { pulse, life }: { pulse: number; life: number },
      coming: ReadonlyMap<Endpoint, number>,
      now: number,
    ) {
      const number = destinations.numberOf(destination);
      const at = { destination: number, pulse, now };
      const claims: DiskClaim[] = [];
      const shares: Share[] = [];
      const places = new Map(lanes.map((lane) => [lane, lane.limit]));
      let free = limit;
      /** How many are coming that may make others more urgent. */
      let lending = [...coming].reduce((sum, [endpoint, each]) => sum + (endpoint === "click" ? 0 : each), 0);
      if (own !== destination) tried = undefined;
      own = destination;
      more = false;
      const urgent: Partial<Record<Endpoint, number>> = {};
      for (const { lane, urgency } of inTurn(lanes)) {
        const { endpoint } = lane;
        const kind = kindOf(endpoint);
        let most = Math.min(places.get(lane) ?? 0, free);
        const claimed = (each: number) => {
          most -= each;
          free -= each;
          places.set(lane, (places.get(lane) ?? 0) - each);
        };
        const waits = totals.rows(number, kind) > 0;
        if (waits && free > 0 && (most > 0 || urgency !== kind)) {
          const { rows, hasMore } = fromLane.claim(lane, urgency, most, at);
          claimed(rows.length);
          for (const row of rows) {
            const claim = claimOf(row, lane, urgency, { destination, owner, life, raises: state.raises });
            if (claim) claims.push(claim);
            else unreadable.setAside(row.seq, now);
          }
          // What is less urgent waits until it is known what is more urgent.
          more ||= hasMore;
          if (hasMore) break;
        }
        if (urgency !== kind) {
          if (waits && most <= 0 && fromLane.isAnyLeft(lane, urgency, at))
            urgent[endpoint] ??= rankOf(urgency);
          continue;
        }
        const waiting = coming.get(endpoint) ?? 0;
        if (most <= 0 || waiting === 0) continue;
        // Which of them are new enough, or the newest, the next claim finds out.
        if (lane.newestFirst || lane.newWithinMs !== undefined) more = true;
        else {
          const left = Math.min(most, waiting);
          shares.push({ lane, left });
          claimed(left);
        }
      }
      return {
        /** The lane from which an event may be claimed that is stored now. */
        laneFor(event: OutboxEvent): Lane | undefined {
          const endpoint = endpointOf(event);
          return event.destination === destination
            ? shares.find(({ lane, left }) => left > 0 && lane.endpoint === endpoint)?.lane
            : undefined;
        },
        /** It was stored, and is claimed. */
        add(event: OutboxEvent, lane: Lane, direct: Direct): void {
          const share = shares.find((each) => each.lane === lane);
          if (share) share.left--;
          const { seq } = direct;
          const { kind: urgency, createdAt: queuedAt } = event;
          if (urgency !== "click") lending--;
          holdings.addDirect(direct, { owner, pulse });
          claims.push({
            ...{ event, lane, urgency, history: UNTRIED, interrupted: false, queuedAt },
            ...{ seq, owner, life, raises: state.raises },
          });
        },
        /** All that were claimed, the most urgent first. */
        end(): DiskClaim[] {
          // What was kept free for events that could not be claimed at once is theirs, or another's.
          if (lending > 0 || shares.some(({ left }) => left > 0)) more = true;
          lines.urgent = urgent;
          return shares.length === 0
            ? claims
            : inTurn(lanes).flatMap(({ lane, urgency }) =>
                claims.filter((claim) => claim.lane === lane && claim.urgency === urgency),
              );
        },
      };
    },
    /** Gives a claimed event back as it was. Returns whether it was still claimed. */
    release({ seq, id, kind, owner: by, interrupted }: Claimed, now: number): boolean {
      state.touch();
      const row = holdings.ownerOf(seq) === by ? release.get(seq, id, now, rankOf(kind)) : undefined;
      if (row) {
        holdings.remove(seq);
        lines.isGivenBack(row);
        return true;
      }
      return !interrupted && holdings.ownerOf(seq) === undefined && clear.run(seq, id).changes > 0;
    },
    /** Gives a claimed event back after an attempt, to be ready again at `readyAt`. Returns whether it was still claimed. */
    rest({ seq, id, owner: by }: Claimed, history: History, readyAt: number): boolean {
      if (holdings.ownerOf(seq) !== by) return false;
      if (rest.run(seq, id, JSON.stringify(history), Math.ceil(readyAt)).changes === 0) return false;
      holdings.remove(seq);
      lines.linesUp();
      tried = true;
      return true;
    },
    /** Where it is, of what this process has claimed. */
    placeOf: ({ id, destination, owner: by }: Claimed): number | undefined =>
      placeOf.get(JSON.stringify(holdings.places(by)), id, destinations.numberOf(destination))?.seq,
    /** When there may next be something to claim that there was not at the last claim. */
    nextReadyAt(now: number): number | null {
      if (own === undefined) return null;
      if (more) return now;
      const destination = destinations.numberOf(own);
      if (!hasTried(destination)) return null;
      const found = nextReady.get(destination, now);
      // Perhaps none is left.
      if (!found) tried = undefined;
      return found?.ready_at ?? null;
    },
    /** What is remembered may be wrong. */
    forget(): void {
      tried = undefined;
    },
  };
}

function claimOf(
  row: Row,
  lane: Lane,
  urgency: Urgency,
  { destination, ...by }: { destination: string } & Pick<DiskClaim, "owner" | "life" | "raises">,
): DiskClaim | undefined {
  const { id, data, created_at } = row;
  const event = eventOf({ id, kind: kindOf(lane.endpoint), data, created_at }, destination);
  const history = row.history === null ? UNTRIED : (parsedOf(row.history) as History | undefined);
  if (!event || !history) return undefined;
  const { interrupted, queued_at: queuedAt, seq } = row;
  return { event, lane, urgency, history, interrupted: interrupted === 1, queuedAt, seq, ...by };
}
