import type { PersonalEvent } from "../../outbox/personal-data.js";
import { note, painted, well } from "../finding.js";
import { eventAsText, type OpenOutbox, type Report } from "./actions.js";
import { countOf, timeOf } from "./words.js";

const STATES = { waiting: "waits", "under-way": "under way", dead: "dead letter" };

/** Lists a person's events, or erases those that are not under way. */
export async function person(outbox: OpenOutbox, email: string, erase: boolean): Promise<Report> {
  const erased = erase ? await outbox.erase({ email }) : undefined;
  const events = await outbox.personalData({ email });
  if (erased === undefined) return { isWell: true, json: { events }, lines: describeAll(events) };
  const left = note(`${countOf(events.length, "event")} left, as under way: try again later`);
  const done = well(`${countOf(erased, "event")} erased, and never sent; the ids stay known`);
  return { isWell: true, json: { erased, events }, lines: events.length > 0 ? [done, left] : [done] };
}

function describeAll(events: readonly PersonalEvent[]): Report["lines"] {
  if (events.length === 0) return [well("no event with this address")];
  return events.flatMap(({ id, kind, state, event, createdAt }) => [
    `${id}  ${kind}  ${painted(STATES[state], "yellow")}`,
    `    ${eventAsText(event)}`,
    `    ${painted(`happened ${timeOf(createdAt)}`, "dim")}`,
  ]);
}
