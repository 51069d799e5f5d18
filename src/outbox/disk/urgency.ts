import type { Endpoint } from "../../service/endpoints.js";
import type { ClaimOwners } from "./claim-owners.js";
import type { QueuePosition } from "./rows.js";
import { BEHIND } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";

// In a queue each event is at least as urgent as those behind it. So if the one just before is urgent enough, all are.
const lastBefore = (id: "click_id" | "session_id") => `(
        select seq from events as earlier where ready_at is not null
        and destination = ?2 and earlier.${id} = ahead.${id} and earlier.seq < ahead.seq order by seq desc limit 1
      )`;

export const STATEMENTS = {
  raise: `
    with recursive ahead (seq, click_id, session_id) as (
      values (?1, ?3, ?4)
      union
      select events.seq, events.click_id, events.session_id from ahead join events
      on events.seq in (${lastBefore("click_id")}, ${lastBefore("session_id")}) and events.urgency < ?5
    )
    update events
    set urgency = ?5, ready_at = case when tried = 0 and ready_at < ${BEHIND} then ?6 else ready_at end
    where seq in (select seq from ahead where seq <> ?1)
    returning seq, destination, endpoint, urgency, click_id, session_id`,
  raiseClaimed: `
    update events set urgency = ?1 where seq in (select value from json_each(?2)) and urgency < ?1 returning seq`,
} as const;

/** An event's position in its queues, and its urgency as the file keeps it. */
export interface Ranked extends QueuePosition {
  readonly endpoint: Endpoint;
  readonly urgency: number;
}

/**
 * Raises all events that one waits for to its urgency, directly or through others, claimed ones too. Looks at two more events
 * than it raises. To be called once all events before it are in their queues in the file.
 *
 * @returns the raised events that are in a queue.
 */
export function createRaise(db: Database, { state, owners }: { state: State; owners: ClaimOwners }) {
  const { raise, raiseClaimed } = prepareAll(db, STATEMENTS);

  return (event: Omit<Ranked, "endpoint">, now: number): readonly Ranked[] => {
    const { seq, destination, click_id, session_id, urgency } = event;
    const raised: Ranked[] = raise.all(seq, destination, click_id, session_id, urgency, now);
    const directs = owners.onArrivalAhead([event, ...raised]);
    const claimed = directs.length > 0 ? raiseClaimed.all(urgency, JSON.stringify(directs)).length : 0;
    if (claimed > 0 || raised.some((each) => owners.ownerOf(each.seq) !== undefined)) state.noteRaise();
    return raised;
  };
}
