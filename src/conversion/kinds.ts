import type { Attribution, ConversionKind, EventData, EventKind, OutboxEvent } from "./events.js";

/** What differs from kind to kind. All other code asks the row of `TABLE`. */
export interface KindRow<Data> {
  /**
   * The highest is the most urgent: 1, 2, 3 and so on, no two alike; 0 means that it was not looked
   * at yet. SQL stores it, so it must not change once it is released: a later kind is above.
   */
  readonly priority: number;
  /** Below `/api/v1/tracking/`. Of two, the first takes the events with a click id. */
  readonly endpoints: readonly [string, string?];
  /** The default of the option `delivery.ambiguous`. */
  readonly ifMaybeTaken: "retry" | "hold";
  /** Whether a report needs a click id or a session id. */
  readonly needsAttribution: boolean;
  /**
   * How long, in milliseconds, and how many ids of delivered events are known at most. The shares of
   * all kinds add up to 1.
   */
  readonly remembered: { readonly ms: number; readonly most: number; readonly shareOfSpace: number };
  /** The most characters of each text: longer ids and addresses are refused, other texts cut. */
  readonly longest: Readonly<Record<string, number>>;
  /** The field with the customer's address: `erase` finds the events of a person by it. */
  readonly emailField: EmailField<Exclude<keyof Data, keyof Attribution>>;
}

/** If a field is named like an address, it is the one. */
type EmailField<Field, Named = Extract<Field, "email" | `${string}Email`>> = [Named] extends [never]
  ? Field | null
  : Named;

// Chosen: no one's address, name or id is longer, and longer User-Agents and URLs are rubbish.
const [EMAIL, SHORT, MEDIUM, URL] = [320, 256, 512, 2_048];
const DAY_MS = 24 * 60 * 60 * 1_000;
const UNBOUNDED = { ms: Number.POSITIVE_INFINITY, most: Number.POSITIVE_INFINITY };

/**
 * The kinds of events. A new kind needs a row here, its data in `events.ts`, its fields in
 * `fields.ts`, its id in `inputs.ts` and its call in `service/calls.ts`. The compiler asks for
 * these. Its methods are new public names: `tracker.ts`, `affiliate.ts`, `request/visitor.ts`,
 * `index.ts`. The dashboard and the sandbox name each kind themselves.
 */
const TABLE = {
  payment: {
    priority: 3,
    endpoints: ["lead/payment"],
    ifMaybeTaken: "hold",
    needsAttribution: true,
    remembered: { ...UNBOUNDED, shareOfSpace: 0.6 },
    longest: { paymentId: SHORT, customerEmail: EMAIL },
    emailField: "customerEmail",
  },
  registration: {
    priority: 2,
    endpoints: ["registration", "lead/registration"],
    ifMaybeTaken: "retry",
    needsAttribution: true,
    remembered: { ...UNBOUNDED, shareOfSpace: 0.3 },
    longest: { email: EMAIL, customerId: SHORT, customerName: SHORT },
    emailField: "email",
  },
  click: {
    priority: 1,
    endpoints: ["click"],
    ifMaybeTaken: "retry",
    needsAttribution: false,
    // Each click has a new id: only a repeated request has the same one, and it comes soon.
    remembered: { ms: DAY_MS, most: 10_000, shareOfSpace: 0.1 },
    longest: { clickedUrl: URL, referrerUrl: URL, userAgent: MEDIUM, source: SHORT },
    emailField: null,
  },
} as const satisfies { readonly [Kind in EventKind]: KindRow<EventData[Kind]> };

type Row<Kind extends EventKind> = (typeof TABLE)[Kind];

/** An endpoint of the tracking API, by its path below `/api/v1/tracking/`. */
export type Endpoint = Row<EventKind>["endpoints"][number];

/** The kinds, the most urgent first. */
export const KINDS: readonly EventKind[] = (Object.keys(TABLE) as EventKind[]).sort(
  (one, other) => TABLE[other].priority - TABLE[one].priority,
);

export const LEAST_URGENT_FIRST: readonly EventKind[] = [...KINDS].reverse();

export const IF_MAYBE_TAKEN = byKind((kind) => TABLE[kind].ifMaybeTaken);

/** The names of a conversion's methods, such as `onPayment` and `trackPayment`. */
export function methodsOf(kind: ConversionKind): { readonly wrap: string; readonly track: string } {
  const name = kind.charAt(0).toUpperCase() + kind.slice(1);
  return { wrap: `on${name}`, track: `track${name}` };
}

/** The customer's address, if the event has one. */
export function emailOf({ kind, data }: Pick<OutboxEvent, "kind" | "data">): string | undefined {
  const field = TABLE[kind].emailField;
  return field === null ? undefined : (data as Record<typeof field, string>)[field];
}

export function rowOf<Kind extends EventKind>(kind: Kind): Row<Kind> {
  return TABLE[kind];
}

export function priorityOf(kind: EventKind): number {
  return TABLE[kind].priority;
}

export function kindOfPriority(priority: number): EventKind {
  return LEAST_URGENT_FIRST[priority - 1] as EventKind;
}

/** Whether the events before it may inherit this kind's priority: not if it is the lowest. */
export function isInheritable(kind: EventKind): boolean {
  return priorityOf(kind) > 1;
}

/** One value for each kind. No `Object.fromEntries`: it adds microseconds to each snapshot. */
export function byKind<T>(of: (kind: EventKind) => T): Record<EventKind, T> {
  const values: Partial<Record<EventKind, T>> = {};
  for (const kind of LEAST_URGENT_FIRST) values[kind] = of(kind);
  return values as Record<EventKind, T>;
}
