import type { OutboxEvent } from "../../conversion/events.js";
import { objectFromJson } from "../../shared/json.js";
import { type FoundEvent, type PersonalEvent, personalEventOf } from "../personal-data.js";
import type { EventRow } from "./event-rows.js";

/** As a search lists it; nothing if the row cannot be read. */
export function foundFrom(
  { id, kind, data, created_at }: EventRow,
  destination: number,
  state: PersonalEvent["state"],
  place: string | number | undefined,
): FoundEvent[] {
  const event = objectFromJson(data) as OutboxEvent["data"] | undefined;
  if (!event) return [];
  const found = { id, destination, kind, data: event, createdAt: Number(created_at) } as OutboxEvent;
  return [{ ...personalEventOf(found, state), ...(place !== undefined && { place }) }];
}
