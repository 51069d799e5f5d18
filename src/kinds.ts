import type { EventKind } from "./events.js";

/** What differs from kind to kind. All other code asks the row of `TABLE`. */
interface KindRow {
  /** The highest is the most urgent. They count from 1: SQL stores the number, and 0 means that it was not looked at yet. */
  readonly priority: number;
  /** Below `/api/v1/tracking/`. Of two, events with a click id go to the first, the others to the second. */
  readonly endpoints: readonly [string, string?];
  /** What becomes of an event that the service may have taken, unless the option `delivery.ambiguous` says otherwise. */
  readonly ifMaybeTaken: "retry" | "hold";
  /** Whether it is reported only for visitors whom an affiliate may have referred. */
  readonly needsAttribution: boolean;
  /** For how long the id of a delivered event is known at most, in milliseconds, and how many such ids. */
  readonly remembered: { readonly ms: number; readonly most: number; readonly shareOfSpace: number };
  /** The most characters of each text. Ids and e-mail addresses that are longer are refused; other texts are cut. */
  readonly longest: Readonly<Record<string, number>>;
}

// Longer addresses, names and ids than any that people have; User-Agents and URLs longer than that are rubbish.
const [EMAIL, SHORT, MEDIUM, URL] = [320, 256, 512, 2_048];
const DAY_MS = 24 * 60 * 60 * 1_000;
const UNBOUNDED = { ms: Number.POSITIVE_INFINITY, most: Number.POSITIVE_INFINITY };

/**
 * The kinds of events. A new kind needs a row here, its fields in `events.ts` and `fields.ts`, and its call in `service/calls.ts`:
 * the compiler asks for each.
 */
const TABLE = {
  payment: {
    priority: 3,
    endpoints: ["lead/payment"],
    ifMaybeTaken: "hold",
    needsAttribution: true,
    remembered: { ...UNBOUNDED, shareOfSpace: 0.6 },
    longest: { paymentId: SHORT, customerEmail: EMAIL },
  },
  registration: {
    priority: 2,
    endpoints: ["registration", "lead/registration"],
    ifMaybeTaken: "retry",
    needsAttribution: true,
    remembered: { ...UNBOUNDED, shareOfSpace: 0.3 },
    longest: { email: EMAIL, customerId: SHORT, customerName: SHORT },
  },
  click: {
    priority: 1,
    endpoints: ["click"],
    ifMaybeTaken: "retry",
    needsAttribution: false,
    // A click's id is new for each click. So only a repeated request has the same one, and it comes soon.
    remembered: { ms: DAY_MS, most: 10_000, shareOfSpace: 0.1 },
    longest: { clickedUrl: URL, referrerUrl: URL, userAgent: MEDIUM, source: SHORT },
  },
} as const satisfies Readonly<Record<EventKind, KindRow>>;

type Row<Kind extends EventKind> = (typeof TABLE)[Kind];

/** An endpoint of the tracking API, by its path below `/api/v1/tracking/`. */
export type Endpoint = Row<EventKind>["endpoints"][number];

/** The kinds, the most urgent first. */
export const KINDS: readonly EventKind[] = (Object.keys(TABLE) as EventKind[]).sort(
  (one, other) => TABLE[other].priority - TABLE[one].priority,
);

/** The kinds, the least urgent first. */
export const LEAST_URGENT_FIRST: readonly EventKind[] = [...KINDS].reverse();

/** The row of a kind. */
export function rowOf<Kind extends EventKind>(kind: Kind): Row<Kind> {
  return TABLE[kind];
}

/** How urgent an event of this kind is, as a number: the highest is the most urgent. */
export function priorityOf(kind: EventKind): number {
  return TABLE[kind].priority;
}

/** The kind that has this priority. */
export function kindOfPriority(priority: number): EventKind {
  return LEAST_URGENT_FIRST[priority - 1] as EventKind;
}

/** Whether events of this kind raise the priority of those that they wait for. The least urgent cannot. */
export function raisesOthers(kind: EventKind): boolean {
  return priorityOf(kind) > 1;
}

/** One value for each kind. No `Object.fromEntries`: it takes microseconds for each snapshot of a store. */
export function byKind<T>(of: (kind: EventKind) => T): Record<EventKind, T> {
  const values: Partial<Record<EventKind, T>> = {};
  for (const kind of LEAST_URGENT_FIRST) values[kind] = of(kind);
  return values as Record<EventKind, T>;
}
