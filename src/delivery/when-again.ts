/**
 * When delivery tries something again: all its policies, in milliseconds. A storage that fails has
 * its own, in src/outbox/fallback.ts.
 *
 * | what | is tried again |
 * | --- | --- |
 * | an event that failed | `backoffMs` after that |
 * | a paused origin or endpoint, a silent status endpoint | `probeMs` after the last probe |
 * | an endpoint that leaves payments without an answer | `costlyProbeMs` after the last probe |
 * | a paused endpoint, by a never-tried event | each `SAVED_PROBE_MS`, five at most at once |
 * | an endpoint that asks for a pause | `askedPauseMs` later |
 *
 * The promises in docs/delivery.md decide the numbers. The simulation that kept all of them in
 * every run had these.
 */

const FIRST_MS = 250;
const GROWTH = 1.5;
const LONGEST_MS = 15 * 60 * 1_000;

/** Between the probes of all endpoints: at most two requests a second to a service that is down. */
export const PROBES_APART_MS = 500;

/** To save one probe for never-tried events: one that the endpoint takes is promised within 5 s. */
export const SAVED_PROBE_MS = 5_000;

/** While one question probes the status endpoint, the other events wait so long. */
export const REFERRAL_WAIT_MS = 5_000;

/** By how much the probes of processes on one storage are apart: one begins, the others see it. */
export const PROCESSES_APART_MS = 4_000;

/** The longest `costlyProbeMs`: at most one payment an hour is risked. */
const LONGEST_COSTLY_MS = 3_600_000;

/**
 * After the first, second and third failure of the event's own, half to all of 250, 375 and 563 ms,
 * and so on up to 15 min; `random` is from 0 up to 1. The jitter keeps events that failed together
 * from coming back together. Each wait is half as long again and not twice as long: otherwise, if
 * half of all attempts fail, the unluckiest of thousands wait for minutes.
 */
export function backoffMs(failures: number, random: number): number {
  return (0.5 + random / 2) * Math.min(LONGEST_MS, FIRST_MS * GROWTH ** (failures - 1));
}

/** After a probe that has cost nothing: a tenth of how long the outage has lasted. */
export function probeMs(lastedMs: number): number {
  return clamp(lastedMs / 10, 1_000, 60_000);
}

/** After one that has cost an event. Recovery is found within 3.5 times the outage's length. */
export function costlyProbeMs(lastedMs: number): number {
  return clamp(3.5 * lastedMs, 45_000, LONGEST_COSTLY_MS);
}

/** Within bounds: a mistake of the service must not close an endpoint for a day. */
export function askedPauseMs(retryAfterMs: number): number {
  return clamp(retryAfterMs, 1_000, 60 * 60 * 1_000);
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
