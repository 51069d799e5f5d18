import type { EventKind } from "../../events.js";

// A click's id is made of its click id, which is new with each click: only a request that is made twice repeats it.
const CLICKS_REMEMBERED_MS = 24 * 60 * 60 * 1_000;

/** For how long the id of an event that was delivered is known, in milliseconds. */
export function rememberedMs(kind: EventKind, rememberMs: number): number {
  return kind === "click" ? Math.min(CLICKS_REMEMBERED_MS, rememberMs) : rememberMs;
}

/** How often what is delivered long ago is forgotten, in milliseconds. */
export const UPKEEP_MS = 60_000;
