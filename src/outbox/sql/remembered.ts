import type { EventKind } from "../../events.js";
import { rowOf } from "../../kinds.js";

/** For how long the id of a delivered event is known, in milliseconds. */
export function rememberedMs(kind: EventKind, rememberMs: number): number {
  return Math.min(rowOf(kind).remembered.ms, rememberMs);
}

/** How often old ids are forgotten, in milliseconds. */
export const UPKEEP_MS = 60_000;
