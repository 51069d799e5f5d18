import { type OutboxEvent, shownData } from "../conversion/events.js";
import { emailOf } from "../conversion/kinds.js";
import { isVisitorId } from "../conversion/visitor-ids.js";
import { addressIn } from "../shared/emails.js";
import { ArgumentError } from "../shared/errors.js";
import { spellingsOf } from "../shared/secret.js";

/**
 * A person is known by an address, a click id, a session id, or several of these. With an address,
 * ids find clicks alone: two people may share a browser, and a browser can send any id.
 */
export interface Person {
  /** The customer's e-mail address, whatever its case: one that your app has confirmed. */
  readonly email?: string | null | undefined;
  /** A click id of this person's, as on the user's row. */
  readonly clickId?: string | null | undefined;
  /** A session id of this person's. */
  readonly sessionId?: string | null | undefined;
}

/** An event in an outbox, as `personalData` lists it. */
export interface PersonalEvent extends Pick<OutboxEvent, "id" | "destination" | "kind"> {
  /** All that is kept of it: the specification's fields and the visitor's ids. */
  readonly event: OutboxEvent["data"];
  /** When it happened, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** `under-way`: taken for an attempt, so `erase` leaves it alone. `dead`: a dead letter. */
  readonly state: "waiting" | "under-way" | "dead";
}

/** An event, as a search lists it. */
export function personalEventOf(
  { id, destination, kind, data, createdAt }: OutboxEvent,
  state: PersonalEvent["state"],
): PersonalEvent {
  return { id, destination, kind, event: data, createdAt, state };
}

/** Can be searched. */
export interface PersonalStorage {
  /**
   * Everything, in parts, in an order in which no event is missed that moves on meanwhile.
   */
  pages(): AsyncIterable<readonly PersonalEvent[]>;
  /**
   * Removes events that are not under way; scheduled ones as `cancel` does. Their ids stay known.
   * Resolves to their number.
   */
  remove(found: readonly PersonalEvent[]): Promise<number>;
}

const REMOVED_AT_ONCE = 200;

/**
 * A person's events: conversions with the address; clicks with one of the ids, with an id of these
 * conversions, or with the address in one of their texts. A conversion of another address is left
 * out, whatever ids it shares. Without an address, ids find conversions, too.
 */
export async function personalDataIn(
  { pages }: Pick<PersonalStorage, "pages">,
  person: Person,
): Promise<readonly PersonalEvent[]> {
  const found = await search(pages, person);
  return found.map((match) => ({ ...match, event: shownData(match.event) }));
}

async function search(pages: PersonalStorage["pages"], person: Person): Promise<readonly PersonalEvent[]> {
  const { email, ...given } = checked(person);
  const found = new Map<string, PersonalEvent>();
  const ids = new Set(idsOf(given));

  async function collect(matches: (event: PersonalEvent) => boolean): Promise<void> {
    for await (const page of pages()) {
      for (const event of page) if (matches(event)) found.set(`${event.destination} ${event.id}`, event);
    }
  }

  const holds = email == null ? () => false : holderOf(email);
  await collect((candidate) => {
    if (candidate.kind === "click") return sharesOneOf(ids, candidate) || holds(candidate.event);
    return email == null
      ? sharesOneOf(ids, candidate)
      : isSameAddress(email, emailOf({ ...candidate, data: candidate.event }));
  });
  const more = new Set(
    [...found.values()].filter(({ kind }) => kind !== "click").flatMap(({ event }) => idsOf(event)),
  );
  for (const id of ids) more.delete(id);
  if (more.size > 0) await collect((event) => event.kind === "click" && sharesOneOf(more, event));
  return [...found.values()].sort((one, other) => one.createdAt - other.createdAt);
}

/** Removes those that are not under way. Resolves to their number. */
export async function eraseIn(storage: PersonalStorage, person: Person): Promise<number> {
  const found = await search(storage.pages, person);
  const free = found.filter(({ state }) => state !== "under-way");
  let removed = 0;
  for (let nth = 0; nth < free.length; nth += REMOVED_AT_ONCE)
    removed += await storage.remove(free.slice(nth, nth + REMOVED_AT_ONCE));
  return removed;
}

/** @throws ArgumentError A search by nothing, or a misspelt name, must not seem to find nothing. */
function checked(person: Person): Person {
  const { email, clickId, sessionId, ...strays } = Object(person) as Person;
  const problems = [
    email != null &&
      (typeof email !== "string" || addressIn(email) === undefined) &&
      "`email` must be an e-mail address",
    clickId != null && !isVisitorId(clickId) && "`clickId` must be a click id",
    sessionId != null && !isVisitorId(sessionId) && "`sessionId` must be a session id",
    ...Object.keys(strays).map((name) => `\`${name}\` is no field of a person`),
    (email ?? clickId ?? sessionId) == null && "it needs `email`, `clickId` or `sessionId`",
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new ArgumentError(`person: ${problems.join("; ")}`);
  return { email: email == null ? email : addressIn(email), clickId, sessionId };
}

function idsOf({ clickId, sessionId }: Person): string[] {
  return [...(clickId ? [`click ${clickId}`] : []), ...(sessionId ? [`session ${sessionId}`] : [])];
}

function sharesOneOf(ids: ReadonlySet<string>, { event }: PersonalEvent): boolean {
  return idsOf(event).some((id) => ids.has(id));
}

/** Whether a click holds the address: in an address of a page, say, or in its source. */
function holderOf(email: string): (data: OutboxEvent["data"]) => boolean {
  const spelt = new RegExp(`(?<![\\w.+-])(?:${spellingsOf(email)})(?![\\w.-])`, "i");
  return (data) => Object.values(data).some((text) => typeof text === "string" && spelt.test(text));
}

// Both: in lower case alone the Kelvin sign is a k, and one person would get another's data.
function isSameAddress(one: string, other: unknown): boolean {
  // A damaged row may have anything in its place.
  if (typeof other !== "string") return false;
  return one.toLowerCase() === other.toLowerCase() && one.toUpperCase() === other.toUpperCase();
}
