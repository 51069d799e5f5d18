import { once } from "node:events";
import { recordingOutbox } from "express-affiliate/testing";
import { describe, expect, it } from "vitest";
import { inlineForEsbuild } from "../inline-plugin.js";
import { createJournal } from "../src/journal/journal.js";
import { systemClock } from "../src/shared/clock.js";
import { createShutdown } from "../src/shutdown.js";
import { throwing } from "./helpers/conversions.js";
import { answering, closedPort, faultyServices, resetting, silent } from "./helpers/faulty-service.js";
import { fixture } from "./helpers/fixture.js";
import { beyond, startProxy } from "./helpers/proxy.js";
import { scratchDirectory } from "./helpers/scratch.js";

const host = fixture("shutdown", [inlineForEsbuild]);
// An attempt would take longer than its test may.
const slow = { delivery: { timeoutMs: 60_000, connectTimeoutMs: 60_000, concurrency: 8 } };
const faultyService = faultyServices();
const paymentsOf = (service: Awaited<ReturnType<typeof faultyService>>) =>
  service.requests.map(({ head }) => /idempotency-key: (\w+)/i.exec(head)?.[1]);

describe.concurrent("a process that ends by itself", () => {
  it.each([
    ["is not kept alive by an idle tracker, which listens to no signal", "idle", [0, 0, 0]],
    ["waits for what the host itself awaits of the service", "awaits the client", "answered"],
    [
      "is not kept by a flush that has ended, however long it might have taken",
      "flushes for as long as it takes",
      true,
    ],
    ["has one listener for all its trackers, and none when they are closed", "many trackers", [1, 0]],
  ])("%s", async (_, scenario, said) => {
    const answer = answering(200, { hasAffiliate: false });
    const service = await faultyService({ onRequest: (...args) => setTimeout(answer, 20, ...args) });
    const run = host([scenario, service.url]);
    expect(await run.over).toEqual({ code: 0, signal: null, stderr: "" });
    expect(run.said).toEqual([said]);
  });

  it("is not kept alive by a tracker that has done its work, nor by its connections", async () => {
    const service = await faultyService();
    const run = host(["idle after work", service.url]);
    expect(await run.next()).toEqual({ settled: true, left: 0 });
    // The connections stand when it has nothing more to do, and it ends all the same, before they
    // are idle for 4 s.
    expect(service.connections.open).toBeGreaterThan(0);
    expect((await run.over).code).toBe(0);
  });

  it("sends first what it has, and what rests after a failure", async () => {
    const service = await faultyService({
      onRequest: (socket, request, nth) => answering(nth < 3 ? 500 : 200)(socket, request, nth),
    });
    expect((await host(["ends by itself", service.url]).over).code).toBe(0);
    expect(new Set(paymentsOf(service)).size).toBe(50);
    expect(service.requests).toHaveLength(52);
  });
});

// Together, because each takes the five seconds that a process has for its own events.
it("a process ends all the same if it cannot send what it has, and says what is lost with it", async () => {
  const one = "ends by itself with one event in memory";
  const down = `http://127.0.0.1:${await closedPort()}`;
  const silentService = () => faultyService({ onRequest: silent });
  const [unanswered, onDisk, tunnelled] = await Promise.all([1, 2, 3].map(silentService));
  // It takes the connection and never says a word of TLS.
  const mute = await faultyService();
  const flaky = await faultyService({
    onRequest: (socket, request, nth) => answering(nth % 3 === 0 ? 200 : 500)(socket, request, nth),
  });
  const { address: proxy } = await startProxy();
  const runs = {
    down: host(["ends by itself", down]),
    unanswered: host([one, unanswered?.url, slow]),
    unconnected: host([one, `https://127.0.0.1:${mute.port}`, slow]),
    tunnelled: host([one, beyond(tunnelled?.url ?? ""), { ...slow, proxy, allowInsecure: true }]),
    // Some events are delivered all the time, and others are not.
    flaky: host(["goes on reporting", flaky.url]),
    slowLogger: host(["ends by itself with a logger that takes its time", down]),
    onDisk: host(["ends by itself with one event on the disk", onDisk?.url, slow], {
      DIRECTORY: scratchDirectory(),
    }),
  };
  const ends = await Promise.all(
    Object.entries(runs).map(async ([name, { over }]) => {
      const { code, stderr } = await over;
      return [name, code, /the process ends with \d+ events/.exec(stderr)?.[0]];
    }),
  );
  expect(ends).toEqual([
    ["down", 0, "the process ends with 50 events"],
    ["unanswered", 0, "the process ends with 1 events"],
    ["unconnected", 0, "the process ends with 1 events"],
    ["tunnelled", 0, "the process ends with 1 events"],
    ["flaky", 0, expect.stringMatching(/events$/)],
    ["slowLogger", 0, undefined],
    ["onDisk", 0, undefined],
  ]);
  expect((await runs.onDisk.over).stderr).toBe("");
  const said = runs.slowLogger.said.filter((line) => line.includes("the process ends with 3 events"));
  expect(said).toHaveLength(1);
  for (const service of [unanswered, onDisk, tunnelled]) expect(service?.requests).toHaveLength(1);
  expect(mute.connections.total).toBeGreaterThan(0);
}, 60_000);

describe.concurrent("close", () => {
  it("returns in its time with the service hanging, and says what is left; what was sent is unconfirmed", async () => {
    const run = host(["closes", (await faultyService({ onRequest: silent })).url, slow], { SENT: "5" });
    expect((await run.over).code).toBe(0);
    const dead = run.said.filter((each) => each.dead);
    // One for each of the five visitors.
    expect(dead).toEqual(Array(5).fill({ dead: "payment", reason: "unconfirmed" }));
    expect(run.said.slice(5)).toEqual([
      { same: true, left: 15, durable: false, settled: false },
      { outcome: "rejected", reason: "closed" },
      "closed",
    ]);
  });

  it("returns in its time while connections are being made, or with the service down, and keeps what was not sent", async () => {
    const connecting = host(["closes", `https://127.0.0.1:${(await faultyService()).port}`, slow]);
    expect(await connecting.next()).toMatchObject({ left: 20, durable: false });
    const down = host(["flushes in vain", `http://127.0.0.1:${await closedPort()}`]);
    for (let time = 0; time < 2; time++) expect(await down.next()).toEqual({ settled: false, left: 20 });
    expect((await down.over).code).toBe(0);
  });

  it("returns at once if it is given no time", async () => {
    const run = host(["closes at once", (await faultyService({ onRequest: silent })).url, slow]);
    expect((await run.over).code).toBe(0);
    // Up to five were sent, and are unconfirmed; if a connection was still being made, its payment
    // is kept.
    const [{ left }] = run.said as [{ left: number }];
    expect(left).toBeGreaterThanOrEqual(15);
  });

  it("lets what is under way finish, and starts nothing new", async () => {
    const service = await faultyService({ onRequest: (...args) => setTimeout(answering(200), 100, ...args) });
    const run = host(["closes in its own good time", service.url]);
    const { left } = await run.next();
    expect((await run.over).code).toBe(0);
    expect(left).toBeGreaterThan(0);
    expect(service.requests).toHaveLength(20 - left);
  });

  it("ends what rests between two attempts at once", async () => {
    const run = host(["closes while it rests", `http://127.0.0.1:${await closedPort()}`]);
    expect(await run.next()).toEqual({ left: 1, durable: false });
    expect((await run.over).code).toBe(0);
  });

  it("does not reject if its options are null, or if the outbox or the way to the service does not close, and says so", async () => {
    const lines: string[] = [];
    const logger = { warn() {}, error: (line: string) => lines.push(line) };
    const fails = throwing("it is stuck");
    const { close, flush } = createShutdown({
      outbox: { ...recordingOutbox(), close: fails },
      delivery: { stop() {} },
      transport: { abort() {}, close: async () => fails() },
      journal: createJournal({ logger, clock: systemClock }),
    });
    expect(await flush(null as never)).toEqual({ settled: true, left: 0 });
    expect(await close(null as never)).toEqual({ left: 0, durable: false });
    expect(lines).toEqual([
      "express-affiliate: the recording outbox did not close: Error: it is stuck",
      "express-affiliate: the way to the service did not close: Error: it is stuck",
    ]);
  });

  it("leaves nothing behind that keeps the process alive, with the service resetting", async () => {
    const service = await faultyService({ onRequest: resetting });
    expect((await host(["closes", service.url, slow]).over).code).toBe(0);
  });
});

it("a signal ends a host without handlers, for the package has none of its own", async () => {
  const service = await faultyService({ onRequest: silent });
  const run = host(["ends by itself", service.url]);
  while (service.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  run.child.kill("SIGTERM");
  await once(run.child, "close");
  expect(await run.over).toMatchObject({ code: null, signal: "SIGTERM" });
});
