import type { EventKind, OutboxEvent } from "../conversion/events.js";
import { rowOf } from "../conversion/kinds.js";
import type { Decision } from "../outbox/dead-letters.js";
import { namedAs } from "../shared/printable.js";
import type { DropReason, PauseReason, PauseScope, SkipReason } from "./notices.js";

/** Why nothing was reported, for the developer who waits for the first event. */
export const WHY_SKIPPED: Record<SkipReason, string | undefined> = {
  disabled: undefined,
  "no-attribution":
    "neither a click id nor a session id is known of its visitor. Visitors bring them in cookies, from a page with the browser snippet or " +
    "`onClick`; outside a request they are in the snapshot",
  consent: "`consent` did not return true for its visitor",
  prefetch: "the page was loaded ahead, and not yet opened",
  bot: "its User-Agent is taken for a bot's, as those of curl and headless browsers are",
  "not-a-page":
    "its request is not one for a page that a person opens: browsers say so in Sec-Fetch-Dest and Sec-Fetch-Mode, or accept text/html",
  zero: "its `leadValue` is zero",
  "not-referred": "the service knows of no affiliate who referred its visitor",
};

/** Messages for drops that the outbox decided. Other callers pass their own. */
export const WHY_DROPPED: Readonly<Record<DropReason, string | undefined>> = {
  ...{ invalid: undefined, outbox: undefined, closed: undefined, pick: undefined },
  full: "the outbox is full, and a more urgent event came",
  "visitor-full": "too many clicks of its visitor wait, and a newer one came",
  "dead-letters-full": "it was a dead letter, of which the outbox keeps no more, and a newer one came",
};

/** What the host's operator can do about a pause. */
export const REMEDIES: Record<PauseReason, string> = {
  unauthorized: "check `apiKey`: it is shown in the program's settings, in the marketing and tracking area",
  misconfigured: "check `baseUrl`: it is what comes before /api/v1/",
  unreachable: "check `baseUrl` and the way there; events wait, and go out when the service is back",
  failing: "nothing needs to be done: events wait, and go out when the service is back",
  silent: "nothing needs to be done: events wait, and go out when the service is back",
  throttled: "nothing needs to be done: events wait, and go out when the service asks for more",
};

export function notSentLine(kind: EventKind, names: readonly string[]): string {
  const given = names.map(namedAs).join(", ");
  const fields = Object.keys(rowOf(kind).fields).map(namedAs);
  return `a ${kind} was reported with ${given}, which is not sent; its fields are ${fields.join(", ")}`;
}

export function duplicateLine(event: OutboxEvent): string {
  return (
    `${nameOf(event)} is a duplicate: it was reported before, and is not sent again. ` +
    "If your database or the sandbox's ledger was reset since, empty the outbox, too"
  );
}

export function pathOf(scope: PauseScope): string {
  return scope === "origin" ? "the service" : `the endpoint ${scope}`;
}

export function decisionLine({ action, by, count, id, kind, reason, amount }: Decision): string {
  const one =
    id === undefined ? undefined : `the ${[reason, kind ?? "event"].filter(Boolean).join(" ")} (${id})`;
  const what = one ?? [`${count} dead letters`, kind && `${kind}s`, reason].filter(Boolean).join(", ");
  const worth = amount === undefined ? "" : ` of ${amount}`;
  const done = action === "retry" ? "queued again" : "discarded";
  const who = by === undefined ? "" : ` by ${JSON.stringify(by)}`;
  return `on the dashboard, ${what}${worth} ${one || count === 1 ? "was" : "were"} ${done}${who}`;
}

/** What the host calls an event, if the host has a name for it, and the event's id. */
export function nameOf({ id, kind, data }: OutboxEvent): string {
  const { paymentId, customerId } = data as { paymentId?: string; customerId?: string };
  const hostId = paymentId ?? customerId;
  return `the ${kind} ${hostId === undefined ? "" : `${JSON.stringify(hostId)} `}(${id})`;
}
