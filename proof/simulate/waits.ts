import type { EventRecord } from "./event-record.js";
import { SILENCE } from "./faults.js";
import type { World } from "./world.js";

const SECOND_MS = 1_000;
/** What an attempt may take. */
const ATTEMPT_MS = 10 * SECOND_MS;
/**
 * What one event may take. On MySQL a claim and a settlement are seven statements each, of 20 ms on
 * average: with what is waited for before them, some 450 ms, which eight events share.
 */
const eachMs = ({ schedule }: World): number => (/mysql|postgres/.test(schedule.outbox) ? 65 : 20);

/** How long an event may wait for others: the bounds of docs/delivery.md, by the schedule's profile. */
export function checkWaits(world: World): void {
  const { profile } = world.schedule;
  const many = world.ledger.records.size * eachMs(world);
  if (profile === "poison") {
    checkEach(
      world,
      ({ isPoison }) => (isPoison ? undefined : 5 * SECOND_MS),
      "a visitor waits for no other",
    );
  } else if (profile === "calm") {
    checkEach(world, ({ kind }) => SECOND_MS + (kind === "payment" ? 0 : many), "payments go first");
  } else if (profile === "outage") {
    checkOutage(world);
  } else if (profile === "crowd") {
    checkPayments(world);
  }
}

function checkEach(
  { ledger }: World,
  longest: (record: EventRecord) => number | undefined,
  promise: string,
): void {
  const all = [...ledger.records.values()];
  for (const record of all) {
    const longestMs = longest(record);
    if (longestMs === undefined || record.takenAt === undefined || record.retries > 0) continue;
    const { acceptedAt, takenAt, clickId } = record;
    // What happened to its own visitor before it comes first, by whichever id it joined its queue.
    const named = all.filter((other) => other === record || (clickId && other.clickId === clickId));
    const relatives = named.flatMap((each) => [each, ...ledger.relativesOf(each)]);
    const earlier = relatives.map((each) => each.takenAt ?? 0).filter((time) => time < takenAt);
    const waitedMs = takenAt - Math.max(acceptedAt, ...earlier);
    if (waitedMs > longestMs) ledger.breaks(promise, `${record.name} waited ${Math.round(waitedMs)} ms`);
  }
}

/** A payment, with all that it waits for, goes within 6 s, whatever strangers' events meet. */
function checkPayments({ ledger, schedule }: World): void {
  const [fail] = schedule.steps.filter((step) => step.do === "fail");
  const longestMs = 6 * SECOND_MS + (fail?.fault.behaviour === SILENCE ? ATTEMPT_MS : 0);
  for (const { kind, name, acceptedAt, takenAt } of ledger.records.values()) {
    if (kind !== "payment" || takenAt === undefined || takenAt - acceptedAt <= longestMs) continue;
    ledger.breaks("no stranger delays a payment", `${name} waited ${Math.round(takenAt - acceptedAt)} ms`);
  }
}

/** All goes within a tenth of the outage (2 s to a minute); a lone visitor's within its half. */
function checkOutage(world: World): void {
  const { ledger, schedule, wellSince } = world;
  const began = schedule.steps.find((step) => step.do === "fail")?.at;
  if (began === undefined || wellSince <= began) return;
  const lastedMs = wellSince - began;
  const waiting = [...ledger.records.values()].filter(({ takenAt = 0 }) => takenAt > wellSince);
  const slackMs = 10 * SECOND_MS + waiting.length * eachMs(world);
  for (const { name, takenAt = 0, acceptedAt } of waiting) {
    const waitedMs = takenAt - Math.max(wellSince, acceptedAt);
    // A lone visitor's last rest may be the longest; those before it add up to at least that.
    const failedMs = takenAt - acceptedAt;
    if (waitedMs > Math.max(2 * SECOND_MS, lastedMs / 2, failedMs / 2) + slackMs) {
      ledger.breaks(
        "what waited is soon sent",
        `${name} waited ${Math.round(waitedMs)} ms after ${lastedMs} ms of outage`,
      );
    }
  }
}
