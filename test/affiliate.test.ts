import { existsSync } from "node:fs";
import { join } from "node:path";
import express from "express";
import { affiliate, type Notices, type TrackOptions } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { recordingOutbox } from "express-affiliate/testing";
import request from "supertest";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { TrackFunction } from "../src/tracker.js";
import { order, returning, throwing } from "./helpers/conversions.js";
import { referred, startShop } from "./helpers/docs/run.js";
import { scratchDirectory } from "./helpers/scratch.js";
import { startService } from "./helpers/service.js";
import { linesLogger, startTracker, trackerWithLines, trackerWithService } from "./helpers/tracker.js";

const ada = { email: "ada@shop.example" };
const visitor = { clickId: "c1", sessionId: "s1" };

it("a shop answers while the service is down, and reports when it is back", async () => {
  const { sandbox, tracker, app } = await startShop();
  app.post("/signup", tracker.onRegistration(returning({ ...ada, customerId: 7 }, 201)));
  app.post("/checkout", tracker.onPayment(returning(order)));
  await sandbox.fail("down");
  const agent = referred(app);
  expect((await agent.post("/signup")).status).toBe(201);
  expect((await agent.post("/checkout")).status).toBe(200);
  expect(tracker.stats()).toMatchObject({ queued: 2, delivered: 0, state: "open" });
  expect(tracker.stats().waiting).toEqual({
    click: { queued: 0, oldestMs: null },
    registration: { queued: 1, oldestMs: expect.any(Number) },
    payment: { queued: 1, oldestMs: expect.any(Number) },
  });
  await sandbox.fail("ok");
  await tracker.flush({ timeoutMs: 10_000 });
  expect(sandbox.ledger.leads()).toMatchObject([{ kind: "registration" }, { kind: "payment" }]);
});

describe("the tracker", () => {
  it.each([
    ["no address and no client id", { clientId: Number.NaN, apiKey: "" }],
    ["an address that is none", { baseUrl: "", clientId: undefined, delivery: false, signed: "" }],
  ] as const)("opens, stores and sends nothing if it is not enabled, with %s", async (_, options) => {
    const directory = join(scratchDirectory(), "outbox");
    const outbox = diskOutbox({ directory });
    const tracker = affiliate({ ...options, outbox, enabled: false, logger: linesLogger() });
    const disabled = { outcome: "skipped", reason: "disabled" };
    expect(await tracker.trackPayment(order, visitor)).toEqual(disabled);
    expect(await tracker.deadLetters.list()).toEqual([]);
    expect(await tracker.deadLetters.retryAll()).toBe(0);
    expect(await tracker.personalData({ email: order.customerEmail })).toEqual([]);
    expect(await tracker.erase({ email: order.customerEmail })).toBe(0);
    expect(await tracker.cancelPayment(order.paymentId)).toBe("unknown");
    await expect(tracker.client.status("s1")).rejects.toMatchObject({ code: "ERR_AFFILIATE_NO_ANSWER" });
    const app = express().use(tracker);
    app.get("/", async (req, res) => {
      res.json([await req.affiliate?.status(), await req.affiliate?.trackPayment(order)]);
    });
    expect((await request(app).get("/").set("Cookie", "svc_session_id=s1")).body).toEqual([null, disabled]);
    expect(await tracker.flush()).toEqual({ settled: true, left: 0 });
    expect(tracker.stats().skipped.disabled).toBe(2);
    expect(await tracker.close()).toEqual({ left: 0, durable: false });
    expect(existsSync(directory)).toBe(false);
  });

  it("says that another tracker of its process has its directory, for the same program", async () => {
    const directory = scratchDirectory();
    const start = (clientId: number) => trackerWithLines({ outbox: diskOutbox({ directory }), clientId });
    const first = start(1);
    const again = start(1);
    expect(again.lines).toEqual([
      expect.stringContaining(`another tracker of this process uses ${directory}`),
    ]);
    await first.tracker.close();
    await again.tracker.close();
    for (const { lines } of [first, start(2), start(1)]) expect(lines).toEqual([]);
  });

  it("takes the options of a report in a request, too, and refuses an unknown one", async () => {
    const transaction = {};
    const outbox = recordingOutbox();
    const add = vi.spyOn(outbox, "add");
    const { tracker, lines } = trackerWithLines({ outbox });
    const options = [{ transaction, matchByEmail: true }, { trx: 1 }, { clientId: 1 }, visitor];
    const app = express().use(tracker);
    app.get("/", async (req, res) => {
      const pay = (given: unknown) => req.affiliate?.trackPayment(order, given as TrackOptions);
      res.json(await Promise.all(options.map(pay)));
    });
    const { body } = await request(app).get("/");
    expect(body).toMatchObject([{ outcome: "queued" }, ...Array(3).fill({ outcome: "rejected" })]);
    expect(add.mock.calls).toEqual([[expect.anything(), { transaction }]]);
    const dropped = 'express-affiliate: the payment "o1" was dropped: ';
    const thereAre = "is no option of a report; there are `transaction` and `matchByEmail`";
    expect(lines).toEqual([
      `${dropped}\`trx\` ${thereAre}`,
      `${dropped}\`clientId\` ${thereAre}`,
      `${dropped}\`req.affiliate\` reports with its visitor's ids; with others, call the function of the tracker`,
    ]);
  });

  it("gives receipts that say which way an event went", async () => {
    const { tracker } = await trackerWithService();
    const first = await tracker.trackPayment(order, visitor);
    expect(first).toEqual({ outcome: "queued", id: expect.stringMatching(/^[0-9a-f]{32}$/) });
    const pay = (changes: object) => tracker.trackPayment({ ...order, ...changes }, visitor);
    expect(await pay({ leadValue: 5 })).toEqual({ ...first, outcome: "duplicate" });
    expect(await pay({ leadValue: "0.00" })).toEqual({ outcome: "skipped", reason: "zero" });
    expect(await pay({ leadValue: -1 })).toEqual({ outcome: "rejected", reason: "invalid" });
    expect(await tracker.trackRegistration(ada)).toEqual({ outcome: "skipped", reason: "no-attribution" });
    await tracker.close();
    expect(await pay({ paymentId: "o2" })).toEqual({ outcome: "rejected", reason: "closed" });
    expect(tracker.stats()).toMatchObject({
      duplicates: 1,
      dropped: { invalid: 1, closed: 1 },
      skipped: { zero: 1 },
      state: "closed",
    });
  });

  it.each([{}, undefined, { sessionId: "undefined" }])(
    "sends nothing for %o, and warns of nothing, because a visitor without consent leaves no more, unless it says `matchByEmail`",
    async (attribution) => {
      const { tracker, posted, lines } = await trackerWithService();
      const skipped = { outcome: "skipped", reason: "no-attribution" };
      expect(await tracker.trackPayment(order, attribution)).toEqual(skipped);
      expect(await tracker.trackRegistration(ada, attribution)).toEqual(skipped);
      expect(await tracker.trackPayment(order, attribution, { matchByEmail: false })).toEqual(skipped);
      const yes = { matchByEmail: "yes" as never };
      expect(await tracker.trackPayment(order, attribution, yes)).toEqual(skipped);
      // The service has no endpoint for a registration without ids.
      expect(await tracker.trackRegistration(ada, attribution, { matchByEmail: true })).toEqual(skipped);
      expect(await tracker.flush()).toEqual({ settled: true, left: 0 });
      expect(posted).toEqual([]);
      expect(lines.join()).not.toContain("dropped");

      const byEmail = await tracker.trackPayment(order, attribution, { matchByEmail: true });
      expect(byEmail).toMatchObject({ outcome: "queued" });
      await tracker.flush();
      expect(posted).toMatchObject([
        { path: "/api/v1/tracking/lead/payment", body: { customerEmail: order.customerEmail } },
      ]);
      expect(posted[0]?.body).not.toHaveProperty("sessionId");
    },
  );

  it("sends what waited for the service's old address to its new one", async () => {
    const directory = scratchDirectory();
    const before = startTracker({ outbox: diskOutbox({ directory }) });
    expect(await before.trackPayment(order, visitor)).toMatchObject({ outcome: "queued" });
    await before.close();

    const { url, posted } = await startService();
    const after = startTracker({ baseUrl: `${url}/moved`, outbox: diskOutbox({ directory }) });
    await expect.poll(() => posted).toMatchObject([{ body: { customerEmail: order.customerEmail } }]);
    expect(await after.trackPayment(order, visitor)).toMatchObject({ outcome: "duplicate" });
  });

  it("names a field that is not sent, once, and an id that is none", async () => {
    const { tracker, lines } = await trackerWithService();
    const unknown = { ...order, currency: "EUR", "__proto__\u001b": 1 };
    // @ts-expect-error: TypeScript sees it too.
    for (const paymentId of [1, 2]) await tracker.trackPayment({ ...unknown, paymentId }, visitor);
    const { leadValue: amount, ...rest } = order;
    // @ts-expect-error: the amount is called `leadValue`.
    await tracker.trackPayment({ ...rest, amount, currency: "EUR" }, visitor);
    for (let nth = 0; nth < 2; nth++) {
      await tracker.trackRegistration({ ...ada, customerId: "undefined" }, visitor);
      await tracker.trackClick({ affiliateReference: "ALICE", clickId: 42 as never, sessionId: "NaN" });
    }
    const fields = "which is not sent; its fields are `paymentId`, `customerEmail`, `leadValue`, `notBefore`";
    expect(lines.filter((line) => !/dropped|duplicate/.test(line))).toEqual([
      `express-affiliate: a payment was reported with \`currency\`, "__proto__\\u001b" (string), ${fields}`,
      `express-affiliate: a payment was reported with \`amount\`, ${fields}`,
      'express-affiliate: the `customerId` of a registration is the text "undefined", which is no id; it is ignored',
      "express-affiliate: the `clickId` of a click is a number, which is no id; it is ignored",
      'express-affiliate: the `sessionId` of a click is the text "NaN", which is no id; it is ignored',
    ]);
  });

  it("names 50 such fields at most, whatever a stranger's body has, and such an id all the same", async () => {
    const { tracker, lines } = await trackerWithService();
    for (let nth = 0; nth < 60; nth++) {
      await tracker.trackPayment({ ...order, paymentId: nth, [`field${nth}`]: 1 }, visitor);
    }
    await tracker.trackRegistration({ ...ada, customerId: "undefined" }, visitor);
    expect(lines).toHaveLength(51);
    expect(lines[50]).toContain('the `customerId` of a registration is the text "undefined"');
  });

  it("never rejects a report, whatever it is given", async () => {
    const { tracker } = await trackerWithService();
    const throws = Object.defineProperty({}, "email", { enumerable: true, get: throwing("boom") });
    const hostile = [undefined, null, 0, "x", [], Object.create(null), throws];
    const { trackClick, trackRegistration, trackPayment } = tracker;
    for (const track of [trackClick, trackRegistration, trackPayment] as TrackFunction<never>[]) {
      for (const input of hostile) {
        for (const attribution of [...hostile, visitor]) {
          expect((await track(input as never, attribution as never)).outcome).toMatch(/^(rejected|skipped)$/);
        }
      }
    }
  });

  it("refuses a transaction that its outbox cannot take part in, without failing, and logs each payment", async () => {
    const { tracker, posted, lines } = await trackerWithService();
    for (const paymentId of [1, 2, 3]) {
      const receipt = await tracker.trackPayment({ ...order, paymentId }, visitor, { transaction: {} });
      expect(receipt).toEqual({ outcome: "rejected", reason: "outbox" });
    }
    const because = "memoryOutbox: cannot take part in a transaction; use postgresOutbox";
    expect(lines.filter((line) => line.includes(because))).toHaveLength(3);
    await tracker.flush();
    expect(posted).toEqual([]);
  });

  it("calls listeners, and survives those that throw", async () => {
    const { tracker, lines } = await trackerWithService({}, ({ body }) => ({
      success: body.leadValue !== 1,
      message: "no such ada@shop.example",
    }));
    const told: [string, unknown][] = [];
    const listen = (name: keyof Notices) => tracker.on(name, (notice) => void told.push([name, notice]));
    tracker.on("queued", throwing("boom"));
    tracker.on("queued", async () => Promise.reject(new Error("boom")));
    for (const name of ["queued", "delivered", "dead", "skipped", "dropped"] as const) listen(name);
    const off = () => told.push(["never", undefined]);
    tracker.on("delivered", off).off("delivered", off);

    const odd = { ...order, customerEmail: 'al"i(c)e,:;<x>@shop.example' };
    const { id } = (await tracker.trackPayment(odd, visitor)) as { id: string };
    await tracker.trackPayment({ ...order, paymentId: "o2", leadValue: 1 }, visitor);
    await tracker.trackPayment({ ...order, paymentId: "" }, visitor);
    await tracker.flush();
    const notice = { id, kind: "payment", ...visitor, email: "a***@shop.example" };
    expect(told).toEqual([
      ["queued", notice],
      ["queued", { ...notice, id: expect.any(String) }],
      ["dropped", { kind: "payment", reason: "invalid", message: expect.stringContaining("`paymentId`") }],
      ["delivered", { ...notice, attempts: 1 }],
      [
        "dead",
        {
          ...{ ...notice, id: expect.any(String), reason: "rejected", status: 200, code: "200" },
          ...{ message: "no such [redacted]", attempts: 1 },
        },
      ],
    ]);
    expect(lines).toContain('express-affiliate: a listener of "queued" threw: Error: boom');
    expect(lines.join("\n")).not.toContain("ada@");
    const event = { paymentId: "o2", customerEmail: "ada@shop.example", ...visitor };
    expect(await tracker.deadLetters.list()).toMatchObject([{ kind: "payment", event, reason: "rejected" }]);
  });

  it.each([2.5, -1, "5", Number.NaN])("lists no dead letters with the limit %j", async (limit) => {
    const listed = startTracker().deadLetters.list({ limit: limit as number });
    await expect(listed).rejects.toMatchObject({ code: "ERR_AFFILIATE_ARGUMENT" });
  });

  it("warns on the console if no logger is given", async () => {
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    await startTracker({ logger: undefined }).trackPayment({ ...order, leadValue: "0x13" }, visitor);
    expect(warn.mock.lastCall).toEqual([
      'express-affiliate: the payment "o1" was dropped: `leadValue`: must be a decimal amount that is not negative, such as 19.9 or "19.90", got "0x13" (string)',
    ]);
  });
});
