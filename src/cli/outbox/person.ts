import type { PersonalEvent } from "../../outbox/personal-data.js";
import { lineOf, note, painted, well } from "../finding.js";
import type { Terminal } from "../terminal.js";
import { eventAsText, linesOf, type OpenOutbox, type Report } from "./actions.js";
import { countOf, timeOf } from "./words.js";

const STATES = { waiting: "waits", "under-way": "under way", dead: "dead letter" };

/** Lists the events of the person with this address, or erases those that are not under way. */
export async function person(
  outbox: OpenOutbox,
  { email, erase }: { email: string; erase: boolean },
): Promise<Report> {
  const erased = erase ? await outbox.erase({ email }) : undefined;
  const events = await outbox.personalData({ email });
  if (erased === undefined) {
    return { isWell: true, json: { events }, lines: (terminal) => describeAll(events, terminal) };
  }
  const left =
    events.length > 0 ? [note(`${countOf(events.length, "event")} left, as under way: try again later`)] : [];
  const findings = [well(`${countOf(erased, "event")} erased, and never sent; the ids stay known`), ...left];
  return { isWell: true, json: { erased, events }, lines: linesOf(findings) };
}

function describeAll(events: readonly PersonalEvent[], terminal: Terminal): string[] {
  if (events.length === 0) return [lineOf(well("no event with this address"), terminal)];
  return events.flatMap(({ id, kind, state, event, createdAt }) => [
    `${id}  ${kind}  ${painted(STATES[state], "yellow", terminal)}`,
    `    ${eventAsText(event)}`,
    `    ${painted(`happened ${timeOf(createdAt)}`, "dim", terminal)}`,
  ]);
}
