import type { Notices } from "express-affiliate";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Behaviour, faultyService } from "../helpers/faulty-service.js";
import { pay } from "../helpers/pay.js";
import { startService } from "../helpers/service.js";
import { startTracker } from "../helpers/tracker.js";

/** Longer than a test lasts: whoever waits so long for a body fails. */
const delivery = { timeoutMs: 60_000 };

/** The head of an answer, and later its body. `undefined`: the body never comes. */
const late =
  (status: number, body?: string): Behaviour =>
  (socket) => {
    socket.write(`HTTP/1.1 ${status} X\r\ntransfer-encoding: chunked\r\n\r\n`);
    if (body === undefined) return;
    const timer = setTimeout(() => {
      socket.write(`${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`);
    }, 5);
    onTestFinished(() => clearTimeout(timer));
  };

describe("an answer whose body does not end", () => {
  it("holds its slot for a second only, and its socket no longer", async () => {
    const service = await faultyService({ onRequest: late(201) });
    const tracker = startTracker({ baseUrl: service.url, delivery });
    for (let nth = 0; nth < 20; nth++) await pay(tracker, nth);
    await expect.poll(() => tracker.stats().delivered, { timeout: 15_000 }).toBe(20);
    expect(tracker.stats()).toMatchObject({ queued: 0, inFlight: 0 });
    await expect.poll(() => service.connections.open).toBe(0);
    expect(service.requests).toHaveLength(20);
  });

  const whole = '{"success":false,"message":"no such programme"}';

  it.each<[string, Behaviour, Partial<Notices["dead"]>]>([
    ["of 201 that says no within a second", late(201, whole), { message: "no such programme", status: 201 }],
    ["of 400 with a message", late(400, whole), { message: "no such programme", status: 400 }],
    ["of 400 without one", late(400, "{"), { message: "the service answered 400", status: 400 }],
    ["of 400 that never comes", late(400), { message: "the service answered 400", status: 400 }],
  ])("%s is a dead letter", async (_name, onRequest, dead) => {
    const service = await faultyService({ onRequest });
    const tracker = startTracker({ baseUrl: service.url, delivery });
    const died = new Promise((resolve) => tracker.on("dead", resolve));
    await pay(tracker);
    expect(await died).toMatchObject({ reason: "rejected", ...dead });
  });
});

describe("the status endpoint's answer", () => {
  it("confirms nothing if its body does not end: the event waits", async () => {
    const service = await faultyService({ onRequest: late(200) });
    const tracker = startTracker({ baseUrl: service.url, delivery, confirmReferral: "always" });
    const retried = new Promise((resolve) => tracker.on("retry", resolve));
    await pay(tracker);
    await retried;
    service.onRequest = late(200, '{"hasAffiliate":true}');
    await expect.poll(() => tracker.stats().delivered, { timeout: 10_000 }).toBe(1);
    expect(service.requests.map(({ method }) => method)).toEqual(["GET", "GET", "POST"]);
  });

  it("is waited for as long as the host allows if the host has asked", async () => {
    const service = await faultyService({
      onRequest(socket) {
        socket.write("HTTP/1.1 200 X\r\ncontent-length: 21\r\n\r\n");
        setTimeout(() => socket.write('{"hasAffiliate":true}'), 1_500);
      },
    });
    const tracker = startTracker({ baseUrl: service.url, delivery });
    expect(await tracker.client.status("s1")).toEqual({ hasAffiliate: true });
  });
});

describe("an answer that is no JSON", () => {
  it("is delivered, and told once", async () => {
    const { url, posted } = await startService((_request, res) => void res.end("OK"));
    const lines: string[] = [];
    const keep = (line: string) => void lines.push(line);
    const tracker = startTracker({ baseUrl: url, logger: { info() {}, warn: keep, error: keep } });
    for (let nth = 0; nth < 5; nth++) await pay(tracker, nth);
    await tracker.flush();
    expect([posted.length, tracker.stats().delivered]).toEqual([5, 5]);
    expect(lines).toEqual([expect.stringContaining("answers with something that is no JSON")]);
  });

  const page = "<!doctype html><title>We are back soon</title>";

  it("risks no payment after the first if it is a page of HTML that comes in place of the status, too", async () => {
    let isThere = false;
    const { url, posted } = await startService(({ method }, res) => {
      if (!isThere) return void res.end(page);
      // The head is enough to show that the service is there.
      return method === "GET" ? void res.writeHead(200).write("{") : {};
    });
    const tracker = startTracker({ baseUrl: url, delivery });
    const paused = new Promise<Notices["paused"]>((resolve) =>
      tracker.on("paused", (notice) => notice.scope === "origin" && resolve(notice)),
    );
    const died = new Promise((resolve) => tracker.on("dead", resolve));
    await pay(tracker, 1);
    expect(await died).toMatchObject({ reason: "unconfirmed", code: "ERR_PAGE" });
    expect((await paused).because).toBe(
      "a page of HTML came with status 200: it is not the tracking service's",
    );
    for (let nth = 2; nth < 20; nth++) await pay(tracker, nth);
    expect(posted).toHaveLength(1);
    isThere = true;
    await expect.poll(() => tracker.stats().delivered, { timeout: 15_000 }).toBe(18);
    expect(tracker.stats().dead.unconfirmed).toBe(1);
  });

  it("is no answer to a call of `tracker.client` if it is a page of HTML", async () => {
    const { url } = await startService((_request, res) => void res.end(page));
    const { client } = startTracker({ baseUrl: url });
    const called = client.paymentLead({ customerEmail: "a@b.example", leadValue: 1 });
    await expect(called).rejects.toMatchObject({ code: "ERR_AFFILIATE_NO_ANSWER", requestSent: true });
  });
});
