import type { EventKind, Outbox } from "express-affiliate";
import { secondsUntil } from "../shared/seconds-until.js";
import { answer, type Conduct, fateOf, startService } from "../shared/service.js";
import { keyOf, trackerOf, trackNth } from "../shared/tracker.js";
import { faults } from "./service.js";

const VISITORS = 40;
const FAILS_FOR_S = 10;
const PATIENCE_S = 60;
/** One more than the attempts at once. */
const MOST_HELD = 9;

/** An outbox, and how its connections end. */
export interface Opened {
  readonly outbox: Outbox;
  end?(): Promise<void>;
}

/**
 * Visitors click and sign up while the service is well, pay while it fails in one way, and pay when
 * it is well again. All arrives in order; a payment that may have been taken is held.
 */
export async function prove(name: string, { outbox, end }: Opened) {
  let misbehave: Conduct | undefined;
  const service = await startService((res, take, asked) => {
    if (misbehave) return misbehave(res, take, asked);
    take();
    setTimeout(answer, 20, res);
  });
  const tracker = trackerOf(service.url, { outbox });
  const tracked: string[] = [];
  let unsettled = 0;
  // By the notices, not by stats(): what an SQL server counts while others write is not exact.
  tracker.on("delivered", () => unsettled--);
  tracker.on("dead", () => unsettled--);

  async function eachTracks(...kinds: readonly EventKind[]): Promise<void> {
    for (const kind of kinds) {
      for (let visitor = 0; visitor < VISITORS; visitor++) {
        const receipt = await trackNth(tracker, kind, `visitor-${visitor}`, tracked.length + 1);
        if (receipt.outcome !== "queued") throw new Error(`an event was ${receipt.outcome}`);
        tracked.push(keyOf(receipt.id));
        unsettled++;
      }
    }
  }
  const settled = (withinS: number) => secondsUntil(() => unsettled <= 0, withinS);

  await eachTracks("click", "registration");
  await settled(PATIENCE_S);
  misbehave = faults[name];
  if (!misbehave) await service.goAway();
  const began = performance.now();
  await eachTracks("payment", "payment");
  await settled(FAILS_FOR_S);
  // Requests that it left hanging end with the failure.
  if (name.startsWith("hangs")) service.hangUp();
  misbehave = undefined;
  await service.comeBack();
  const failedForS = (performance.now() - began) / 1_000;
  await eachTracks("payment", "payment");
  await settled(4 * failedForS + PATIENCE_S);

  const { arrivals, requests } = service;
  const letters = await tracker.deadLetters.list({ limit: 1_000, reason: "unconfirmed" });
  const { lost, paymentsTwice, outOfOrder } = fateOf(
    tracked,
    arrivals,
    letters.map(({ id }) => keyOf(id)),
  );
  await tracker.close({ timeoutMs: 1_000 });
  await service.goAway();
  await end?.();
  return {
    ...{ name, requests },
    measured: `of ${tracked.length}: lost ${lost}, paid twice ${paymentsTwice}, out of order ${outOfOrder}, held ${letters.length}`,
    isKept: lost + paymentsTwice + outOfOrder === 0 && letters.length <= MOST_HELD,
  };
}
