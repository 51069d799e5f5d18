import express from "express";
import { OptionsError } from "express-affiliate";
import { type DashboardOptions, dashboard } from "express-affiliate/dashboard";
import request from "supertest";
import { describe, expect, it, vi } from "vitest";
import { eachExpress } from "../helpers/express.js";
import { answering, faultyService, hangingUp } from "../helpers/faulty-service.js";
import { pay } from "../helpers/pay.js";
import { startService } from "../helpers/service.js";
import { startTracker, trackerWithLines } from "../helpers/tracker.js";
import { appWith, listen, openDashboard, PATH, payInVain, refusedTracker } from "./helpers.js";

const order = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };

const trackerOf = async () => startTracker({ baseUrl: (await startService()).url });

/** A tracker with one payment that the service refuses. */
const trackerWithRejected = async () =>
  payInVain(await refusedTracker("no such customer: ada@shop.example", "Unprocessable"), "ada@shop.example");

describe("the dashboard's options", () => {
  it.each<[string, unknown, RegExp]>([
    ["no options", undefined, /^dashboard: `authorize` is required: it must be a function of the request/],
    ["no authorize", {}, /`authorize` is required/],
    ["what is no function", { authorize: true }, /`authorize` must be a function .*, got true \(boolean\)/],
    ["an unknown option", { authorize: () => true, authorise: 1 }, /did you mean `authorize`\?/],
  ])("are refused: %s", async (_, options, message) => {
    const tracker = await trackerOf();
    const mount = () => dashboard(tracker, options as DashboardOptions);
    expect(mount).toThrow(OptionsError);
    expect(mount).toThrow(message);
  });

  it("need a tracker", () => {
    const mount = () => dashboard(undefined as never, { authorize: () => true });
    expect(mount).toThrow("dashboard: the first argument must be what affiliate() has returned");
  });
});

describe.each(eachExpress)("the dashboard on $name", ({ express }) => {
  it("has a page, and every file that the page asks for", async () => {
    const app = appWith(await trackerOf(), { express });
    const page = await request(app).get(`${PATH}/`).expect(200);
    expect(page.get("content-type")).toMatch(/^text\/html/);
    const files = [...page.text.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, file = ""]) => file);
    expect(files).toEqual(["style.css", "main.js"]);
    for (const file of files) {
      const { body, text } = await request(app).get(`${PATH}/${file}`).expect(200);
      const content = text ?? String(body);
      expect(content.length).toBeGreaterThan(100);
      // The names of SVG and MathML look like addresses.
      expect(content.replaceAll("http://www.w3.org/", "")).not.toMatch(/https?:\/\/|\beval\b|\bFunction\(/);
    }
    await request(app).head(`${PATH}/`).expect(200);
  });

  it("sends a browser without the slash to the page, by a relative path", async () => {
    const app = appWith(await trackerOf(), { express });
    await request(app).get(PATH).expect(302).expect("location", "./affiliate/");
    await request(app).get(`${PATH}?tab=1`).expect(302).expect("location", "./affiliate/?tab=1");
  });

  it("shows how much waits, how the endpoints are, and what failed last", async () => {
    const tracker = startTracker({ baseUrl: (await faultyService({ onRequest: answering(503) })).url });
    const page = openDashboard(appWith(tracker, { express }));
    const paused = new Promise((resolve) => tracker.on("paused", resolve));
    for (let n = 0; n < 4; n++) await pay(tracker, n);
    await tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: "c" });
    await paused;
    await expect
      .poll(async () => (await page.get("state")).body)
      .toMatchObject({
        outbox: { queued: 5, oldestMs: expect.any(Number) },
        process: {
          name: expect.stringContaining(`process ${process.pid}`),
          state: "paused",
          endpoints: {
            "lead/payment": { state: "paused", reason: "failing", pausedMs: expect.any(Number) },
            registration: { state: "open" },
            "lead/registration": { state: "open" },
            click: {},
          },
        },
      });
    expect((await page.get("state")).body.process.failures).toContainEqual({
      outcome: "retry",
      kind: "payment",
      because: expect.stringContaining("503"),
      count: expect.any(Number),
      lastAt: expect.any(Number),
    });
  });

  it("lists dead letters with the payment's id, the amount, the masked address and what the service said", async () => {
    const page = openDashboard(appWith(await trackerWithRejected(), { express }));
    expect((await page.get("dead-letters").expect(200)).body).toEqual({
      ...{ count: 1, unconfirmed: 0, payments: 1, amount: 19.9 },
      letters: [
        {
          id: expect.stringMatching(/^[0-9a-f]{32}$/),
          kind: "payment",
          paymentId: "o1",
          amount: 19.9,
          email: "a***@shop.example",
          reason: "rejected",
          status: 422,
          code: "Unprocessable",
          message: "no such customer: [redacted]",
          attempts: 1,
          createdAt: expect.stringMatching(/Z$/),
          diedAt: expect.stringMatching(/Z$/),
        },
      ],
    });
    expect((await page.get("dead-letters?kind=click")).body.letters).toEqual([]);
    expect((await page.get("dead-letters?reason=rejected")).body.letters).toHaveLength(1);
    await page.get("dead-letters?reason=buried").expect(400);
  });

  it("retries and discards, also if the host parses bodies", async () => {
    const tracker = await trackerWithRejected();
    const page = openDashboard(appWith(tracker, { express, before: [express.json()] }));
    const [letter] = await tracker.deadLetters.list();
    const died = new Promise((resolve) => tracker.on("dead", resolve));
    await page.post("retry", { id: letter?.id }).expect(200, { count: 1 });
    await died;
    await page.post("discard", { id: letter?.id }).expect(200, { count: 1 });
    await page.post("discard", { id: letter?.id }).expect(404);
    await page.post("retry", { id: letter?.id }).expect(404);
    expect(await tracker.deadLetters.list()).toEqual([]);
  });

  it("does not repeat what the host's storage says when it fails", async () => {
    const tracker = await trackerOf();
    tracker.deadLetters.list = async () => Promise.reject(new Error("password of postgres://ada:secret@db"));
    const { body } = await openDashboard(appWith(tracker, { express })).get("dead-letters").expect(503);
    expect(body).toEqual({ message: "The outbox does not answer: its storage fails." });
  });

  it("answers what it does not have, and what is asked the wrong way", async () => {
    const page = openDashboard(appWith(await trackerOf(), { express }));
    for (const path of ["nothing", "__proto__", "retry", "discard"]) await page.get(path).expect(404);
    await page.post("state", {}).expect(404);
  });
});

describe("what waits for a decision", () => {
  /**
   * A tracker with three payments of which it is not known whether they arrived, and one that was
   * refused.
   */
  async function trackerWithUnconfirmed() {
    const service = await faultyService({
      onRequest: (socket, sent, nth) =>
        (sent.body.includes("19.9") ? answering(422) : hangingUp)(socket, sent, nth),
    });
    const tracker = startTracker({ baseUrl: service.url });
    const lost = [0, 1, 2].map((n) => ({ ...order, paymentId: `lost-${n}`, leadValue: 0.1 }));
    for (const payment of [order, ...lost])
      await tracker.trackPayment(payment, { sessionId: payment.paymentId });
    await expect.poll(() => tracker.stats().dead).toEqual({ rejected: 1, unconfirmed: 3, expired: 0 });
    service.requests.length = 0;
    const page = openDashboard(appWith(tracker));
    const [letter] = await tracker.deadLetters.list({ reason: "unconfirmed" });
    return { service, tracker, page, id: letter?.id };
  }

  it("is sent again only if the page has asked", async () => {
    const { service, page, id } = await trackerWithUnconfirmed();
    service.onRequest = answering(200);
    const { body } = await page.post("retry", { id }).expect(409);
    expect(body.message).toMatch(/^It is unconfirmed: the service may have it\./);
    expect(service.requests).toEqual([]);
    await page.post("retry", { id, unconfirmed: true }).expect(200, { count: 1 });
    await expect.poll(() => service.requests.length).toBe(1);
  });

  it("is counted and summed before the question, done only to as many as were asked about, and stays if others are retried", async () => {
    const { page, tracker, service } = await trackerWithUnconfirmed();
    service.onRequest = answering(200);
    const sum = { count: 3, unconfirmed: 3, payments: 3, amount: 0.3 };
    expect((await page.get("dead-letters?reason=unconfirmed")).body).toMatchObject(sum);
    const { body } = await page.post("retry", { reason: "unconfirmed", count: 2 }).expect(409);
    expect(body.message).toBe("There are 3 of them now, not 2. Look again, then decide.");
    await page.post("discard", { count: 3 }).expect(409);
    expect(tracker.stats().dead).toMatchObject({ rejected: 1, unconfirmed: 3 });
    await page.post("retry", { count: 4 }).expect(200, { count: 1 });
    expect(tracker.stats().dead).toMatchObject({ rejected: 0, unconfirmed: 3 });
    await page.post("retry", { reason: "unconfirmed", count: 3 }).expect(200, { count: 3 });
    await expect.poll(() => service.requests.length).toBe(4);
  });

  it("is done to none that came after the answer", async () => {
    const { page, tracker, service } = await trackerWithUnconfirmed();
    const { ids } = tracker.deadLetters;
    vi.spyOn(tracker.deadLetters, "ids").mockImplementationOnce(async (filter) => {
      const asked = await ids(filter);
      await tracker.trackPayment({ ...order, paymentId: "late", leadValue: 9_000 }, { sessionId: "late" });
      await expect.poll(() => tracker.stats().dead.unconfirmed).toBe(4);
      service.onRequest = answering(200);
      return asked;
    });
    await page.post("retry", { reason: "unconfirmed", count: 3 }).expect(200, { count: 3 });
    const held = await tracker.deadLetters.list({ reason: "unconfirmed" });
    expect(held.map(({ event }) => event)).toMatchObject([{ paymentId: "late" }]);
  });
});

it("the dashboard works behind a proxy that cuts a prefix off the path", async () => {
  const tracker = await trackerWithRejected();
  const app = appWith(tracker);
  const base = await listen(express().use("/eu", (req, res) => app(req, res)));
  const page = await fetch(`${base}/eu${PATH}`);
  expect(page.url).toBe(`${base}/eu${PATH}/`);
  expect((await fetch(new URL("state", page.url))).headers.get("set-cookie")).toBeNull();
  const [letter] = await tracker.deadLetters.list();
  const discard = new URL(`discard?id=${letter?.id}`, page.url);
  const answer = await fetch(discard, { method: "POST", headers: { origin: base } });
  expect([answer.status, await answer.json()]).toEqual([200, { count: 1 }]);
});

describe("what an operator does", () => {
  it("leaves a notice and a log line: what, of which event, of which amount, and who", async () => {
    const { url } = await faultyService({ onRequest: answering(422, {}) });
    const { tracker, lines } = trackerWithLines({ baseUrl: url });
    const decisions: unknown[] = [];
    tracker.on("decided", (decision) => decisions.push(decision));
    const page = openDashboard(appWith(tracker, { authorize: async () => ({ by: "ada" }) }));
    const ids: string[] = [];
    for (const paymentId of ["o1", "o2", "o3"]) {
      const receipt = await tracker.trackPayment({ ...order, paymentId }, { sessionId: "s" });
      ids.push((receipt as { id: string }).id);
    }
    await expect.poll(() => tracker.stats().dead.rejected).toBe(3);
    const before = lines.length;

    await page.post("discard", { id: ids[0] }).expect(200);
    await page.post("discard", { id: ids[0] }).expect(404);
    await page.post("discard", { kind: "payment", count: 2 }).expect(200);
    await page.post("discard", { count: 0 }).expect(200);

    const one = { action: "discard", count: 1, kind: "payment", reason: "rejected", amount: 19.9 };
    expect(decisions).toEqual([
      { ...one, id: ids[0], by: "ada" },
      { action: "discard", count: 2, kind: "payment", amount: 39.8, by: "ada" },
    ]);
    expect(lines.slice(before)).toEqual([
      `express-affiliate: on the dashboard, the rejected payment (${ids[0]}) of 19.9 was discarded by "ada"`,
      'express-affiliate: on the dashboard, 2 dead letters, payments of 39.8 were discarded by "ada"',
    ]);
  });

  it("is told without a name if `authorize` gave none, and of what is queued again", async () => {
    const tracker = await trackerWithRejected();
    const decisions: unknown[] = [];
    tracker.on("decided", (decision) => decisions.push(decision));
    const page = openDashboard(appWith(tracker));
    const [letter] = await tracker.deadLetters.list();
    await page.post("retry", { id: letter?.id }).expect(200);
    for (const query of [{ reason: "rejected", count: 1 }, { count: 1 }]) {
      await expect.poll(() => tracker.stats().dead.rejected).toBe(1);
      await page.post("retry", query).expect(200);
    }
    const all = { action: "retry", count: 1, reason: "rejected", amount: 19.9 };
    expect(decisions).toEqual([
      { ...all, kind: "payment", id: letter?.id },
      all,
      { action: "retry", count: 1 },
    ]);
  });
});
