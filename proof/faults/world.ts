import type { Attribution, EventKind, Outbox } from "express-affiliate";
import { secondsUntil } from "../shared/seconds-until.js";
import { answer, type Conduct, startService } from "../shared/service.js";
import { keyOf, trackerOf, trackNth } from "../shared/tracker.js";
import { standstill } from "./standstill.js";

/** A situation: what was measured in it, in words, and whether that was promised. */
export interface Promised {
  readonly name: string;
  run(world: World): Promise<readonly [measured: string, isKept: boolean]>;
}

export type World = Awaited<ReturnType<typeof openWorld>>;

/** An outbox, and how its connections end. */
export interface Opened {
  readonly outbox: Outbox;
  end?(): Promise<void>;
}

/** One tracker, and its service, whose behaviour the proof changes. */
export async function openWorld({ outbox, end }: Opened) {
  const settings = {
    /** How it fails for this visitor at this path; `undefined`: it takes the event. */
    fault: (_visitor: string, _path: string): Conduct | undefined => undefined,
    answerMs: 20,
  };
  const service = await startService((res, take, asked) => {
    const misbehave = settings.fault(asked.visitor, asked.path);
    if (misbehave) return misbehave(res, take, asked);
    take();
    setTimeout(answer, settings.answerMs, res);
  });
  const tracker = trackerOf(service.url, { outbox });
  // Tables are made before time counts.
  await outbox.look();
  const addedAt = new Map<string, number>();
  const stored = new Set<string>();
  let unsettled = 0;
  let number = 0;
  // By the notices, not by stats(): what an SQL server counts while others write is not exact.
  tracker.on("delivered", () => unsettled--);
  tracker.on("dead", () => unsettled--);

  async function track(
    kind: EventKind,
    visitor = `visitor-${number}`,
    attribution?: Attribution,
  ): Promise<string> {
    const receipt = await trackNth(tracker, kind, visitor, ++number, attribution);
    if (receipt.outcome !== "queued") throw new Error(`an event was ${receipt.outcome}`);
    const key = keyOf(receipt.id);
    // Receipts wait for a second at most.
    if (receipt.reason === undefined) stored.add(key);
    addedAt.set(key, performance.now());
    unsettled++;
    return key;
  }

  return {
    service,
    settings,
    tracker,
    track,
    /** Whether it was stored when it had its receipt. */
    isStored: (key: string) => stored.has(key),
    /** The keys of all that was tracked. */
    tracked: () => [...addedAt.keys()],
    /**
     * The longest wait of these, in milliseconds, without the standstills in it; infinite if one is
     * not taken within another 20 s.
     */
    async longest(keys: readonly string[]): Promise<number> {
      const takenAt = () => new Map(service.arrivals.toReversed().map(({ key, at }) => [key, at]));
      await secondsUntil(() => keys.every((key) => takenAt().has(key)), 20);
      const waits = keys.map((key) => {
        const [from, to] = [addedAt.get(key) as number, takenAt().get(key) ?? Number.POSITIVE_INFINITY];
        return to - from - standstill(from, to);
      });
      return Math.max(...waits);
    },
    async settled(timeoutMs: number): Promise<number> {
      const seconds = await secondsUntil(() => unsettled <= 0, timeoutMs / 1_000);
      return unsettled > 0 ? Number.POSITIVE_INFINITY : seconds * 1_000;
    },
    async close(): Promise<void> {
      await tracker.close({ timeoutMs: 1_000 });
      await service.goAway();
      await end?.();
    },
  };
}
