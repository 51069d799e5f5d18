import type { EventKind } from "express-affiliate";
import type { Capacity, Verdict } from "express-affiliate/outbox";
import { expect, it } from "vitest";
import { createThreadEngine } from "../../src/engine/thread-engine.js";
import type { DiskClaim } from "../../src/outbox/disk/protocol.js";
import { UNTRIED } from "../../src/outbox/outbox.js";
import type { DeliveryPlan } from "../../src/outbox/remote.js";
import { endpointOf } from "../../src/service/endpoints.js";
import { systemClock } from "../../src/shared/clock.js";
import { startService } from "../helpers/service.js";
import { makeEvent } from "../helpers/virtual-delivery.js";

const planFor = (baseUrl: string): DeliveryPlan => ({
  baseUrl,
  clientId: 1,
  concurrency: 8,
  connectTimeoutMs: 3_000,
  timeoutMs: 10_000,
  maxAgeMs: 72 * 3_600_000,
  ambiguous: { click: "retry", registration: "retry", payment: "hold" },
  confirmReferral: "never",
});

const CLAIMS_BEFORE = 5;

/** An engine that finds so many events after some claims, beside a store that answers no further claim, and takes every verdict. */
async function answeredOnce(kind: EventKind, number: number) {
  const service = await startService();
  const settled: Verdict["type"][] = [];
  let claims = 0;
  const storage = {
    outranks: () => false,
    async claim({ limit, lanes }: Capacity): Promise<DiskClaim[]> {
      if (++claims <= CLAIMS_BEFORE) {
        setImmediate(() => engine.wake());
        return [];
      }
      if (claims > CLAIMS_BEFORE + 1) return new Promise(() => {});
      return Array.from({ length: number }, (_, nth): DiskClaim[] => {
        const event = makeEvent(kind, { clickId: `c${nth}` }, nth);
        const lane = lanes.find(({ endpoint }) => endpoint === endpointOf(event));
        if (!lane || nth >= Math.min(limit, lane.limit)) return [];
        return [
          {
            ...{ event, lane, urgency: kind, history: UNTRIED, interrupted: false, queuedAt: 0 },
            ...{ seq: nth, owner: "", leaseEpoch: 1, raises: 0 },
          },
        ];
      }).flat();
    },
    async settle(_claim: DiskClaim, { type }: Verdict) {
      settled.push(type);
    },
  };
  const engine = createThreadEngine(planFor(service.url), storage, { clock: systemClock, onNews() {} });
  return { service, settled, engine };
}

it("sends what may be sent twice one after the other, without a claim in between", async () => {
  const { service, settled } = await answeredOnce("click", 60);
  await expect.poll(() => service.posted.length).toBe(60);
  await expect.poll(() => settled).toEqual(Array(60).fill("delivered"));
});

it("sends no more payments than it has claimed for the places that there are", async () => {
  const { service, settled } = await answeredOnce("payment", 60);
  await expect.poll(() => settled).toEqual(Array(6).fill("delivered"));
  expect(service.posted).toHaveLength(6);
});

it("gives back what it has claimed, and not sent, when it stops", async () => {
  const { service, settled, engine } = await answeredOnce("click", 60);
  await expect.poll(() => service.posted.length).toBeGreaterThan(0);
  engine.stop();
  await expect.poll(() => settled.length).toBe(60);
  const sent = settled.filter((type) => type === "delivered").length;
  expect(settled.filter((type) => type === "release")).toHaveLength(60 - sent);
  expect(service.posted).toHaveLength(sent);
});
