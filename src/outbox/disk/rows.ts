import type { EventKind, OutboxEvent } from "../../events.js";
import { LEAST_URGENT_FIRST, priorityOf } from "../../kinds.js";
import type { Endpoint } from "../../service/endpoints.js";
import { objectFromJson } from "../../shared/json.js";

/** What decides an event's position in its visitor's queues. */
export interface QueuePosition {
  readonly seq: number;
  readonly destination: number;
  readonly click_id: string | null;
  readonly session_id: string | null;
}

/** The row of a live event. */
export interface EventRow extends QueuePosition {
  readonly id: string;
  readonly kind: EventKind;
  readonly data: string;
  readonly created_at: number;
  readonly queued_at: number;
  readonly size: number;
  readonly history: string | null;
  readonly interrupted: number;
}

/** A live event with what decides when it is claimed. */
export interface QueuedRow extends QueuePosition {
  readonly endpoint: Endpoint;
  readonly urgency: number;
}

/** An event that has not entered its visitor's queue yet. */
export interface NewRow extends EventRow, QueuedRow {
  /** Where it was stored in this transaction or shortly before: what `data` says. */
  readonly event?: OutboxEvent;
}

/** All combinations of an event's urgency and kind, the least urgent first. */
export const GROUPS: readonly { readonly rank: number; readonly kind: EventKind }[] =
  LEAST_URGENT_FIRST.flatMap((urgency, nth) =>
    LEAST_URGENT_FIRST.slice(0, nth + 1).map((kind) => ({ rank: priorityOf(urgency), kind })),
  );

/** The event of a row; `undefined` where the row cannot be read. */
export function eventFromRow(
  { id, kind, data, created_at }: Pick<EventRow, "id" | "kind" | "data" | "created_at">,
  destination: number,
): OutboxEvent | undefined {
  const parsed = objectFromJson(data);
  return parsed && ({ id, destination, kind, data: parsed, createdAt: created_at } as OutboxEvent);
}

const PAGE_BYTES = 4_096;

/** How many bytes a row takes in the file, its index entries included: an upper estimate. */
export function sizeOnDisk({ id, data }: OutboxEvent, json: string): number {
  const visitor = (data.clickId?.length ?? 0) + (data.sessionId?.length ?? 0);
  const row = 80 + id.length + visitor + Buffer.byteLength(json);
  // A leaf of an index is two thirds full on average; a row that is a third of a page or longer may have one to itself.
  const aside = 1.5 * (80 + visitor);
  return Math.ceil(
    aside + (row < PAGE_BYTES / 3 ? 1.25 * row : PAGE_BYTES * Math.ceil((row + 600) / PAGE_BYTES)),
  );
}

/** Whether it is an id as events have them. */
export const isEventId = (id: unknown): id is string => typeof id === "string" && /^[0-9a-f]{32}$/.test(id);
