import { expect, test } from "vitest";
import { createScanStarts, type NextClaim } from "../../../src/outbox/postgres/scan-starts.js";
import type { Step } from "../../../src/outbox/postgres/steps.js";
import { FakeClock } from "../../helpers/fake-clock.js";

const STEP: Step = {
  lane: 1,
  endpoint: "lead/payment",
  urgency: 0,
  scan: "oldest",
  new_within_ms: undefined,
  since: undefined,
};
const SCAN = "lead/payment 0 untried";

/** A claim's answer: the scan found nothing before the server's time. */
function nothingAt(at: number): NextClaim {
  return { at, tookMs: 1, toEnter: at, scans: [at] };
}

async function startsAfter(work: (scans: ReturnType<typeof createScanStarts>) => unknown) {
  const scans = createScanStarts({ pollMs: 1_000, clock: new FakeClock() });
  expect(scans.next()).toMatchObject({ at: null });
  await work(scans);
  scans.found(nothingAt(50_000), [STEP]);
  return scans.next();
}

test("a claim that is not full scans from where the one before it found nothing", async () => {
  const starts = await startsAfter(() => {});
  expect(starts.at).toBe(50_000);
  expect(starts.of(SCAN)).toBe(50_000);
});

test("a transaction that was committed during the first claim is in the next one", async () => {
  const starts = await startsAfter((scans) => scans.committed(49_000));
  expect(starts.at).toBe(50_000);
  expect(starts.of(SCAN)).toBe(49_000);
});

test("so is what this process stored during the first claim", async () => {
  const starts = await startsAfter((scans) => scans.during(async () => {}));
  expect(starts.of(SCAN)).toBe(0);
});
