import type { EventKind } from "../../events.js";

// An event's id is a digest of the click id, which is new for each click: only a repeated request has the same one.
const CLICKS_REMEMBERED_MS = 24 * 60 * 60 * 1_000;

/** For how long the id of a delivered event is known, in milliseconds. */
export function rememberedMs(kind: EventKind, rememberMs: number): number {
  return kind === "click" ? Math.min(CLICKS_REMEMBERED_MS, rememberMs) : rememberMs;
}

/** How often old ids are forgotten, in milliseconds. */
export const UPKEEP_MS = 60_000;
