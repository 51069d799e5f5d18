import { type ClickData, click } from "./click.js";
import type { KindRow } from "./kind-row.js";
import { type PaymentData, payment } from "./payment.js";
import { type RegistrationData, registration } from "./registration.js";

/** The data of each kind of event: the specification's field names, with ids as strings. */
export interface EventData {
  readonly click: ClickData;
  readonly registration: RegistrationData;
  readonly payment: PaymentData;
}

/** `click`, `registration` or `payment`. */
export type EventKind = keyof EventData;

/** For an event that the service may have taken: send it again, or hold it as a dead letter. */
export type AmbiguousPolicy = "retry" | "hold";

/** A kind that a wrapped handler reports: each but `click`. */
export type ConversionKind = Exclude<EventKind, "click">;

export type KindTable = { readonly [Kind in EventKind]: KindRow<EventData[Kind]> };

/**
 * The kinds of events, the least urgent first. A kind's priority is its place: 1, 2, 3. SQL stores
 * it, so never move a published kind: add a new one last.
 *
 * A new kind needs a file beside `payment.ts`, an entry here and in `EventData`, and a call in
 * `service/calls.ts`. Its methods go in `tracker.ts`, `affiliate.ts`, `request/visitor.ts` and
 * `index.ts`. The sandbox names each kind itself.
 */
const TABLE = { click, registration, payment } as const satisfies KindTable;

type Row<Kind extends EventKind> = (typeof TABLE)[Kind];

/** An endpoint of the tracking API, by its path below `/api/v1/tracking/`. */
export type Endpoint = Row<EventKind>["endpoints"][number];

export const LEAST_URGENT_FIRST = Object.keys(TABLE) as readonly EventKind[];

/** The kinds, the most urgent first. */
export const KINDS: readonly EventKind[] = [...LEAST_URGENT_FIRST].reverse();

const PRIORITIES = byKind((kind) => LEAST_URGENT_FIRST.indexOf(kind) + 1);

export const IF_MAYBE_TAKEN = byKind((kind) => TABLE[kind].ifMaybeTaken);

/** The names of a conversion's methods, such as `onPayment` and `trackPayment`. */
export function methodsOf(kind: ConversionKind): { readonly wrap: string; readonly track: string } {
  const name = kind.charAt(0).toUpperCase() + kind.slice(1);
  return { wrap: `on${name}`, track: `track${name}` };
}

/** The customer's address, if the event has one. */
export function emailOf({ kind, data }: { kind: EventKind; data: object }): string | undefined {
  const field = TABLE[kind].emailField;
  return field === null ? undefined : (data as Record<typeof field, string>)[field];
}

export function rowOf<Kind extends EventKind>(kind: Kind): Row<Kind> {
  return TABLE[kind];
}

export function priorityOf(kind: EventKind): number {
  return PRIORITIES[kind];
}

export function isMoreUrgent(one: EventKind, other: EventKind): boolean {
  return PRIORITIES[one] > PRIORITIES[other];
}

export function kindOfPriority(priority: number): EventKind {
  return LEAST_URGENT_FIRST[priority - 1] as EventKind;
}

/** One value for each kind. No `Object.fromEntries`: it adds microseconds to each snapshot. */
export function byKind<T>(of: (kind: EventKind) => T): Record<EventKind, T> {
  const values: Partial<Record<EventKind, T>> = {};
  for (const kind of LEAST_URGENT_FIRST) values[kind] = of(kind);
  return values as Record<EventKind, T>;
}
