/**
 * The promises in numbers of docs/delivery.md, as far as they depend on how fast a machine is:
 * crowds, and a backlog. The tests show the others, and these too, in virtual time: test/delivery/promises.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventKind } from "express-affiliate";
import type { Conduct } from "../shared/service.js";
import { chance } from "../simulate/random.js";
import { says, silence } from "./service.js";
import type { Promised } from "./world.js";

const ms = (value: number) => (Number.isFinite(value) ? `${Math.round(value)} ms` : "never");

/** Strangers come for 10 s, none of whom pays; one visitor a second clicks, signs up and pays. */
function flood(
  does: string,
  misbehave: Conduct,
  { rate, kinds, withinMs }: { rate: number; kinds: readonly EventKind[]; withinMs: number },
): Promised {
  return {
    name: `${does} ${rate} strangers' ${kinds.join(" and ")}s a second`,
    async run({ settings, track, longest, tracker }) {
      settings.fault = (visitor) => (visitor.startsWith("poison") ? misbehave : undefined);
      const payers: string[] = [];
      for (let n = 0; n < 10 * rate; n++) {
        const visitor = `poison-${n}`;
        for (const kind of kinds) await track(kind, visitor, { clickId: visitor, sessionId: visitor });
        if (n % rate === Math.floor(rate / 2)) {
          for (const kind of ["click", "registration", "payment"] as const)
            payers.push(await track(kind, `payer-${n}`));
        }
        await sleep(1_000 / rate);
      }
      await sleep(withinMs);
      const slowest = await longest(payers);
      const afterwards = await longest([await track("click")]);
      return [
        `clicks, sign-ups and payments ${ms(slowest)}; a click after it ${ms(afterwards)}; ${tracker.stats().queued} wait`,
        slowest <= withinMs && (withinMs > 6_000 || afterwards <= 10_000),
      ];
    },
  };
}

/** Those of two outboxes run together. */
export const floods: readonly Promised[] = [
  flood("refuses (404)", says(404), { rate: 50, kinds: ["click"], withinMs: 6_000 }),
  flood("fails (500)", says(500), { rate: 50, kinds: ["click"], withinMs: 6_000 }),
  flood("is silent to", silence, { rate: 15, kinds: ["click"], withinMs: 16_000 }),
  flood("refuses (404)", says(404), { rate: 50, kinds: ["registration"], withinMs: 6_000 }),
  flood("fails (500)", says(500), { rate: 15, kinds: ["click", "registration"], withinMs: 6_000 }),
];

/**
 * How many attempts of each event fail before one passes, if this share of all attempts fails: as
 * many events fail once, twice and so on as is to be expected, in an order that is always the same.
 * With random failures, the rests of one event in a few dozen runs would break the promise.
 */
function failuresOf(events: number, share: number): number[] {
  const failures: number[] = [];
  const numbers = Array.from({ length: events }, (_, nth) => nth);
  const shuffled = numbers.sort((one, other) => chance("fails", one) - chance("fails", other));
  for (const [rank, nth] of shuffled.entries()) {
    failures[nth] = Math.floor(Math.log((rank + 0.5) / events) / Math.log(share));
  }
  return failures;
}

/** Two rounds of the attempts at once: those under way, and those that a claim takes meanwhile. */
const MOST_BEFORE = 16;

/** These run alone: they keep the processor busy. */
export const alone: readonly Promised[] = [
  {
    // How long that takes is shown in virtual time.
    name: "fails 3 of 10 attempts, of one event six at most",
    async run({ service, settings, track, settled, tracker }) {
      const failures = failuresOf(2_000, 0.3);
      settings.fault = (visitor) => {
        const nth = Number(visitor.slice("visitor-".length));
        const left = failures[nth] ?? 0;
        failures[nth] = left - 1;
        return left > 0 ? says(500) : undefined;
      };
      for (let n = 0; n < 2_000; n++) await track(n % 2 ? "click" : "registration");
      const tookMs = await settled(300_000);
      const { delivered } = tracker.stats();
      return [
        `${delivered} within ${ms(tookMs)} of the last`,
        delivered === 2_000 && service.requests <= (1.3 * 2_000) / 0.7,
      ];
    },
  },
  {
    name: "has 4,000 clicks waiting, at 25 ms each",
    async run({ service, settings, track, isStored, longest, tracker }) {
      settings.answerMs = 25;
      // In portions that are stored within a second; otherwise they, and a payment, would wait in memory.
      for (let portion = 0; portion < 8; portion++)
        await Promise.all(Array.from({ length: 500 }, () => track("click")));
      const { queued } = tracker.stats();
      let payment = await track("payment");
      for (let more = 19; more > 0 && !isStored(payment); more--) payment = await track("payment");
      const before = service.arrivals.length;
      const waited = await longest([payment]);
      const until = service.arrivals.findIndex(({ key }) => key === payment);
      const clicks = service.arrivals.slice(before, until).filter(({ isPayment }) => !isPayment).length;
      return [
        `${queued} wait; a payment ${ms(waited)}, after ${clicks} clicks`,
        isStored(payment) && queued > 10 * MOST_BEFORE && Number.isFinite(waited) && clicks <= MOST_BEFORE,
      ];
    },
  },
];
