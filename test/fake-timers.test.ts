import { afterEach, describe, expect, it, vi } from "vitest";
import { pay } from "./helpers/pay.js";
import { startService } from "./helpers/service.js";
import { startTracker } from "./helpers/tracker.js";
import { outputOf, runNode, userProject } from "./helpers/user-project.js";
import { startSandbox } from "./sandbox/helpers.js";

describe("a tracker under fake timers", () => {
  afterEach(() => void vi.useRealTimers());

  it("delivers, retries, flushes and closes", async () => {
    let refusals = 1;
    const { url, posted } = await startService((_request, res) => {
      if (refusals-- > 0) res.statusCode = 500;
      return { success: true };
    });
    const tracker = startTracker({ baseUrl: url, delivery: { concurrency: 1 } });
    // So that a connection is there from before.
    await pay(tracker, 0);
    expect(await tracker.flush()).toEqual({ settled: true, left: 0 });

    vi.useFakeTimers({ now: Date.UTC(2001, 1, 1) });
    refusals = 1;
    for (let id = 1; id <= 10; id++) await pay(tracker, id);
    expect(await tracker.flush()).toEqual({ settled: true, left: 0 });
    expect(tracker.stats()).toMatchObject({ delivered: 11, retried: 2, oldestMs: null });
    expect(new Set(posted.map(({ headers }) => headers["idempotency-key"])).size).toBe(11);

    vi.useRealTimers();
    await pay(tracker, 11);
    expect(await tracker.flush()).toEqual({ settled: true, left: 0 });
    vi.useFakeTimers();
    expect(await tracker.close()).toEqual({ left: 0, durable: false });
  });

  it("that Jest puts in place before anything is loaded goes on as well", async () => {
    const sandbox = await startSandbox();
    const test = `
      const { affiliate } = require("express-affiliate");
      test("delivers", async () => {
        const tracker = affiliate({ baseUrl: "${sandbox.url}", clientId: ${sandbox.clientId} });
        for (let id = 0; id < 10; id++)
          await tracker.trackPayment(
            { paymentId: id, customerEmail: "ada@shop.example", leadValue: 1 },
            { sessionId: "s" + id },
          );
        expect(await tracker.flush()).toEqual({ settled: true, left: 0 });
        await tracker.close();
      });`;
    const config =
      '{ "jest": { "testMatch": ["**/fake.jest.js"], "fakeTimers": { "enableGlobally": true } } }';
    const project = await userProject({ "fake.jest.js": test, "package.json": config }, ["express", "jest"]);
    const { code, stderr } = await outputOf(runNode(project, ["node_modules/jest/bin/jest.js"]));
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/1 passed/) });
    expect(sandbox.ledger.payments()).toHaveLength(10);
  });
});
