import type { EventKind } from "../../conversion/events.js";
import { rowOf } from "../../conversion/kinds.js";

/** For how long a delivered event's id is known. */
export function rememberedMs(kind: EventKind, rememberMs: number): number {
  return Math.min(rowOf(kind).remembered.ms, rememberMs);
}

/** How often old ids are forgotten, in milliseconds. */
export const UPKEEP_MS = 60_000;
