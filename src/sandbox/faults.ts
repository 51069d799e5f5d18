import * as z from "zod/mini";

/** Every fault that the sandbox can have; `ok` is none. */
export const faultModes = [
  "ok",
  "down",
  "slow",
  "500",
  "503",
  "429",
  "401",
  "hang",
  "reset",
  "reset-after",
  "garbage",
] as const;

/**
 * - `ok`: no fault
 * - `down`: the port refuses connections, and those that stand are cut
 * - `slow`: records at once, answers `delayMs` later
 * - `500`, `503`, `401`: answers so, records nothing
 * - `429`: the same, with `Retry-After: retryAfterSeconds`
 * - `hang`: reads the request and never answers; records nothing
 * - `reset`: reads the request and resets the connection; records nothing
 * - `reset-after`: records, then resets the connection instead of answering
 * - `garbage`: answers bytes that are not HTTP; records nothing
 */
export type FaultMode = (typeof faultModes)[number];

/** How a fault fails, and for how long. */
export interface FaultOptions {
  /** How long until it ends, in milliseconds. Left out: until `fail("ok")`. */
  forMs?: number | undefined;
  /** For `slow`: how much later the answer leaves, in milliseconds. Default 2000. */
  delayMs?: number | undefined;
  /** For `429`: the value of `Retry-After`, in whole seconds. Default 1. */
  retryAfterSeconds?: number | undefined;
}

/** A fault in force. */
export interface Fault {
  /** What the tracking endpoints do. */
  readonly mode: FaultMode;
  /** Since when, as ISO 8601 in UTC. */
  readonly since: string;
  /** When it ends by itself, as ISO 8601 in UTC; null: when `fail("ok")` is called. */
  readonly until: string | null;
  /** For `slow`: how much later answers leave, in milliseconds. */
  readonly delayMs: number;
  /** For `429`: the value of `Retry-After`, in seconds. */
  readonly retryAfterSeconds: number;
}

/** A longer timer ends at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const ms = z.number().check(z.minimum(0), z.maximum(MAX_TIMER_MS));
const schema = z.strictObject({
  mode: z.enum(faultModes),
  forMs: z.optional(ms),
  delayMs: z._default(ms, 2000),
  retryAfterSeconds: z._default(z.int().check(z.minimum(0)), 1),
});

export type Faults = ReturnType<typeof createFaults>;

/** Holds the fault in force, and ends it in time. Calls `enforce` with each. */
export function createFaults(enforce: (fault: Fault) => Promise<void>) {
  const since = new Date().toISOString();
  let fault: Fault = { mode: "ok", since, until: null, delayMs: 0, retryAfterSeconds: 0 };
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  /**
   * Resolves when the fault is active. Rejects with a TypeError for what is no fault. If the port was
   * taken during `down`, rejects, and `down` stays in force.
   */
  async function set(mode: FaultMode, options: FaultOptions = {}): Promise<void> {
    const { success, data } = schema.safeParse({ ...options, mode });
    if (!success) {
      throw new TypeError(
        `sandbox: there is no fault ${JSON.stringify({ mode, ...options })}; ` +
          "a fault is { mode, forMs?, delayMs?, retryAfterSeconds? }, " +
          `with mode ${faultModes.join(", ")}, up to ${MAX_TIMER_MS} ms, and whole seconds`,
      );
    }
    if (stopped) return;
    const { forMs, ...how } = data;
    clearTimeout(timer);
    const now = Date.now();
    if (forMs !== undefined) timer = setTimeout(() => set("ok").catch(() => {}), forMs).unref();
    const until = forMs === undefined ? null : new Date(now + forMs).toISOString();
    fault = { ...how, since: new Date(now).toISOString(), until };
    try {
      await enforce(fault);
    } catch (error) {
      fault = { ...fault, mode: "down", until: null };
      throw error;
    }
  }

  /** Ends all changes. */
  function stop(): void {
    stopped = true;
    clearTimeout(timer);
  }

  return { current: () => fault, set, stop };
}
