import type { Attribution, EventKind, OutboxEvent } from "express-affiliate";
import { describe, expect, it } from "vitest";
import { loginSessionId } from "../../src/conversion/visitor-ids.js";
import type { Call } from "../../src/service/calls.js";
import { HOUR_MS } from "../helpers/times.js";
import {
  hanging,
  type Reply,
  refused,
  says,
  startDelivery,
  type VirtualOptions,
  yes,
} from "../helpers/virtual-delivery.js";

/** A service that answers what it is asked of a session in this way, and takes every event. */
function start(status: Reply, options: VirtualOptions = {}) {
  const answers = { status };
  return { answers, ...startWith(({ method }) => (method === "GET" ? answers.status : yes), options) };
}

function startWith(reply: (call: Call) => Reply, options: VirtualOptions = {}) {
  const rig = startDelivery({ confirmReferral: "login-session", reply, ...options });
  let number = 0;
  const add = (kind: EventKind, ids: Attribution = { sessionId: loginSessionId(`${number++}`) }) =>
    rig.add(kind, ids);
  return { ...rig, add };
}

/** The service takes events, and its status endpoint hangs up. */
const refusedByStatus: Reply = { taken: false, afterMs: 1, silence: "sent" };
const affiliated = (hasAffiliate: unknown): Reply => ({ ...yes, body: { hasAffiliate } });
const pathsOf = (calls: readonly { call: Call }[]) => calls.map(({ call }) => call.path);

describe("an event whose only id is a login session's", () => {
  it.each([
    ["knows none", affiliated(false)],
    [
      "knows no such session",
      says(404, { body: { error: "Not Found", message: "No such session", status: 404 } }),
    ],
  ])(
    "is not sent if the status endpoint %s: it is settled as skipped, and counted",
    async (_name, status) => {
      const { clock, service, add, outbox, journal } = start(status);
      const skipped: unknown[] = [];
      journal.emitter.on("skipped", (notice) => skipped.push(notice));
      const event = await add("registration");
      await clock.pass(1_000);
      expect(pathsOf(service.probes)).toEqual([`/api/v1/tracking/status/${loginSessionId("0")}`]);
      expect(service.posts).toEqual([]);
      expect(outbox.counts().queued).toBe(0);
      expect(journal.counts.skipped["not-referred"]).toBe(1);
      expect(journal.counts.delivered).toBe(0);
      expect(skipped).toMatchObject([{ id: event.id, kind: "registration", reason: "not-referred" }]);
      expect(await outbox.add(event)).toBe("duplicate");
    },
  );

  it("is sent if the status endpoint refuses the key, with one warning", async () => {
    const { clock, service, add, lines } = start(says(401));
    for (let n = 0; n < 5; n++) await add("payment");
    await clock.pass(1_000);
    expect(service.taken).toHaveLength(5);
    expect(lines.filter((line) => line.includes("confirmReferral"))).toHaveLength(1);
    expect(lines).toHaveLength(1);
  });

  it.each<[string, Reply, number?]>([
    ["is down", refused, 0],
    ["answers 500", says(500), 0],
    ["is silent", hanging, 0],
    ["asks for a pause", says(429, { retryAfter: "60" }), 0],
    ["answers 302, as a page of maintenance does", says(302)],
    ["answers 405", says(405)],
    ["answers 410", says(410)],
    ["answers 501", says(501)],
    ["answers 200 with no JSON", yes],
    ["answers 200 with an empty object", { ...yes, body: {} }],
    ["answers 200 with a text in place of yes", { ...yes, body: { hasAffiliate: "true" } }],
    ["answers 404 with no JSON, as a gateway does", says(404)],
    [
      "answers 404 with JSON of a gateway's",
      says(404, { body: { message: "no Route matched with those values" } }),
    ],
    [
      "answers 404 with JSON of NestJS",
      says(404, { body: { error: "Not Found", statusCode: 404, message: "Cannot" } }),
    ],
    ["answers 404 with JSON of Rails", says(404, { body: { error: "Not Found", status: 404 } })],
    [
      "answers 404 with JSON of Spring Boot",
      says(404, { body: { error: "Not Found", status: 404, message: "" } }),
    ],
  ])(
    "waits while the status endpoint %s, however long, and one warning says so if that is no status",
    async (_name, answer, warnings = 1) => {
      const { clock, service, add, answers, outbox, lines } = start(answer, { maxAgeMs: HOUR_MS });
      for (let n = 0; n < 5; n++) await add("payment");
      await clock.pass(5 * HOUR_MS);
      expect(service.posts).toEqual([]);
      expect(outbox.counts()).toMatchObject({ queued: 5, dead: { expired: 0, unconfirmed: 0 } });
      const isNone = "answers with something that is no status";
      expect(lines.filter((line) => line.includes(isNone))).toHaveLength(warnings);
      answers.status = affiliated(true);
      await clock.pass(HOUR_MS);
      expect(service.taken).toHaveLength(5);
    },
  );

  it("is asked about by no other question in a pause that is asked for, though one that was under way is answered", async () => {
    const answers: Reply[] = [says(429, { retryAfter: "60" }), { ...affiliated(true), afterMs: 100 }];
    const { clock, service, add } = startWith(({ method }) =>
      method === "GET" ? (answers.shift() ?? affiliated(true)) : yes,
    );
    await add("payment");
    await add("payment");
    await clock.pass(1_000);
    expect([service.probes.length, service.taken.length]).toEqual([2, 1]);
    for (let n = 0; n < 5; n++) await add("payment");
    await clock.pass(58_000);
    expect(service.probes).toHaveLength(2);
    await clock.pass(30_000);
    expect(service.taken).toHaveLength(7);
  });

  it("is sent within 2 s of an outage of 3 s, if it comes then", async () => {
    const { clock, service, add, answers } = start(says(500));
    await add("payment");
    await clock.pass(3_000);
    answers.status = affiliated(true);
    await add("payment");
    await clock.pass(2_000);
    expect(service.taken).not.toEqual([]);
    const later = await add("payment");
    await clock.pass(1_000);
    expect(service.taken).toContain(later.id);
  });

  it("is not sent if the service asked for a pause while the status endpoint was asked", async () => {
    const { clock, service, add } = startWith(({ method }) =>
      method === "GET" ? { ...affiliated(true), afterMs: 100 } : says(429, { retryAfter: "30" }),
    );
    await add("payment", { clickId: "c" });
    await add("payment");
    await clock.pass(29_000);
    expect(service.posts).toHaveLength(1);
    service.reply = () => affiliated(true);
    await clock.pass(30_000);
    expect(service.taken).toHaveLength(2);
  });

  it("holds up no other event while the status endpoint is down, which is asked twice a second at most", async () => {
    for (const status of [refusedByStatus, says(500), hanging]) {
      const { clock, service, add } = start(status);
      for (let n = 0; n < 100; n++) await add("payment");
      const others: OutboxEvent[] = [];
      for (let n = 0; n < 30; n++) {
        await clock.pass(1_000);
        others.push(await add("payment", { clickId: `c${n}` }));
      }
      await clock.pass(15_000);
      expect(new Set(service.taken)).toEqual(new Set(others.map(({ id }) => id)));
      expect(service.probes.filter(({ at }) => at > clock.now() - 40_000).length).toBeLessThanOrEqual(2 * 40);
    }
  });

  it.each([
    ["fails", says(500), 70_000],
    ["asks for a pause", says(429, { retryAfter: "3600" }), HOUR_MS],
  ])(
    "rests until the status endpoint may be asked again, if that %s: nothing is claimed in vain",
    async (_name, status, withinMs) => {
      const { clock, service, add, answers, journal } = start(status);
      let begun = 0;
      journal.emitter.on("attempt", () => begun++);
      for (let n = 0; n < 100; n++) await add("payment");
      await clock.pass(600_000);
      begun = 0;
      await clock.pass(60_000);
      // Twice for each probe: before it, and while it is under way.
      expect(begun).toBeLessThanOrEqual(2 * 100 + 10);
      answers.status = affiliated(true);
      await clock.pass(withinMs);
      expect(service.taken).toHaveLength(100);
    },
  );

  it("is also one that an earlier version named, without the prefix", async () => {
    const { clock, service, add } = start(affiliated(false));
    await add("payment", { sessionId: "0123456789abcdef".repeat(4) });
    await clock.pass(1_000);
    expect(service.probes).toHaveLength(1);
    expect(service.posts).toEqual([]);
  });
});

it.each<[string, EventKind, Attribution | undefined, VirtualOptions?]>([
  ["of a visitor with a click id", "payment", { clickId: "c", sessionId: loginSessionId("1") }],
  ["of a visitor with a session of the landing page", "payment", { sessionId: "s" }],
  ["of one whose id is upper-case hex", "payment", { sessionId: "0123456789ABCDEF".repeat(4) }],
  ["before a click", "click", { sessionId: loginSessionId("1") }],
  ["if the host wants none of it", "payment", undefined, { confirmReferral: "never" }],
])("nothing is asked %s", async (_name, kind, ids, options) => {
  const { clock, service, add } = start(affiliated(false), options);
  await add(kind, ids);
  await clock.pass(1_000);
  expect(service.probes).toEqual([]);
  expect(service.taken).toHaveLength(1);
});

it("the referral is asked of every session if the host wants it always", async () => {
  const { clock, service, add } = start(affiliated(false), { confirmReferral: "always" });
  await add("payment", { sessionId: "s" });
  await add("payment", { clickId: "c" });
  await clock.pass(1_000);
  expect(pathsOf(service.probes)).toEqual(["/api/v1/tracking/status/s"]);
  expect(service.taken).toHaveLength(1);
});
