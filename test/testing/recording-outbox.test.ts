import express from "express";
import type { AffiliateOptions } from "express-affiliate";
import { recordingOutbox } from "express-affiliate/testing";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { order, returning } from "../helpers/conversions.js";
import { startTracker } from "../helpers/tracker.js";
import { outputOf, runNode, userProject } from "../helpers/user-project.js";

function start(options: Partial<AffiliateOptions> = {}) {
  const outbox = recordingOutbox();
  const tracker = startTracker({ outbox, ...options });
  const app = express()
    .use(tracker)
    .post("/", tracker.onPayment(returning(order)));
  return { outbox, tracker, pay: () => request(app).post("/").set("Cookie", "svc_session_id=s1") };
}

describe("recordingOutbox", () => {
  it("records whole events, sends nothing, and leaves `waitUntil` nothing to wait for", async () => {
    const promises: Promise<void>[] = [];
    const { outbox, tracker, pay } = start({ waitUntil: (promise) => promises.push(promise) });
    await pay();
    await pay();
    expect(promises).not.toEqual([]);
    await Promise.all(promises);
    expect(await tracker.flush()).toEqual({ settled: true, left: 0 });
    expect(outbox.events).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        destination: 42,
        kind: "payment",
        data: { ...order, sessionId: "s1" },
        createdAt: expect.any(Number),
      },
    ]);
    expect(tracker.stats()).toMatchObject({ duplicates: 1, retried: 0, delivered: 0 });
  });

  it("begins anew once its events are taken out", async () => {
    const { outbox, tracker } = start();
    const id = expect.any(String);
    const pay = (options = {}) => tracker.trackPayment(order, { sessionId: "s1" }, options);
    expect(await pay({ transaction: {} })).toEqual({ outcome: "queued", id });
    expect(await pay()).toEqual({ outcome: "duplicate", id });
    outbox.events.length = 0;
    expect(await pay()).toEqual({ outcome: "queued", id });
  });

  it("is there without SQLite, node:test or anything else that an app may not have", async () => {
    const code = `
      import { affiliate } from "express-affiliate";
      import { recordingOutbox } from "express-affiliate/testing";
      const outbox = recordingOutbox();
      const tracker = affiliate({ baseUrl: "https://tracking.example", clientId: 1, outbox });
      await tracker.trackPayment(${JSON.stringify(order)}, { sessionId: "s1" });
      console.log(outbox.events.length, process.moduleLoadList.filter((name) => /sqlite|test_runner/.test(name)).length);`;
    const project = await userProject({ "app.mjs": code });
    expect(await outputOf(runNode(project, ["app.mjs"]))).toEqual({ code: 0, stdout: "1 0\n", stderr: "" });
  });
});
