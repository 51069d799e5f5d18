import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import express from "express";
import {
  type Affiliate,
  type AffiliateOptions,
  memoryOutbox,
  type Notices,
  type Outbox,
} from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import request from "supertest";
import { expect, it, onTestFinished } from "vitest";
import { order, returning } from "./helpers/conversions.js";
import { describeWithMariaDb } from "./helpers/mysql.js";
import { pay } from "./helpers/pay.js";
import { overStorage } from "./helpers/played-storage.js";
import { describeWithPostgres } from "./helpers/postgres.js";
import { scratchDirectory } from "./helpers/scratch.js";
import { startService } from "./helpers/service.js";
import { startTracker } from "./helpers/tracker.js";

const NAMES = [
  ...(["queued", "attempt", "delivered", "retry", "dead"] as const),
  ...(["dropped", "skipped", "paused", "resumed"] as const),
] satisfies (keyof Notices)[];

/** Whose request the code runs in. */
const visitor = new AsyncLocalStorage<string>();

/**
 * A tracker that a visitor's request has made, as in a route that is loaded when it is first asked
 * for; and in whose context it speaks.
 */
async function startHeard(outbox: Outbox, options: Partial<AffiliateOptions> = {}) {
  const heard: { readonly name: string; readonly in: string | undefined }[] = [];
  const hear = (name: string) => heard.push({ name, in: visitor.getStore() });
  const tried = new Set<string>();
  const { url: baseUrl } = await startService(({ body = {} }, res) => {
    const who = String(body.sessionId);
    const isFirst = tried.size < tried.add(who).size;
    if (who.startsWith("refused")) res.statusCode = 422;
    if (isFirst && who.startsWith("failing")) res.statusCode = 500;
    if (isFirst && who.startsWith("throttled")) res.writeHead(503, { "retry-after": "1" }).end();
    return { success: res.statusCode === 200 };
  });
  const onRequest = () => hear("request");
  subscribe("undici:request:create", onRequest);
  onTestFinished(() => void unsubscribe("undici:request:create", onRequest));
  const tracker = visitor.run("the first visitor", () =>
    startTracker({
      baseUrl,
      outbox,
      logger: { info: () => hear("line"), warn: () => hear("line"), error: () => hear("line") },
      ...options,
    }),
  );
  for (const name of NAMES) tracker.on(name, () => hear(name));
  return {
    tracker,
    /** Those of a name, each once. */
    contextsOf: (name: string) => [...new Set(heard.filter((each) => each.name === name).map((e) => e.in))],
    heard,
  };
}

const payOf = (tracker: Affiliate, who: string) => visitor.run(who, () => pay(tracker, who, who));

function testContexts(name: string, create: () => Outbox | Promise<Outbox>): void {
  it(`delivery, its notices and its log lines are in no visitor's context: ${name}`, async () => {
    const { tracker, contextsOf } = await startHeard(await create());
    const visitors = ["ann", "bob", "refused-cy", "failing-dan", "eve"];
    await Promise.all(visitors.map((who) => payOf(tracker, who)));
    await expect.poll(() => tracker.stats().queued).toBe(0);
    await payOf(tracker, "throttled-fay");
    await expect.poll(() => contextsOf("resumed")).toHaveLength(1);
    await expect.poll(() => tracker.stats().queued).toBe(0);

    for (const delivery of ["attempt", "delivered", "retry", "dead", "paused", "resumed", "line"]) {
      expect([delivery, contextsOf(delivery)]).toEqual([delivery, [undefined]]);
    }
    expect(contextsOf("request")).toEqual([undefined]);
    expect(contextsOf("queued")).toEqual(expect.arrayContaining([...visitors, "throttled-fay"]));
  });
}

testContexts("memoryOutbox", () => memoryOutbox());
testContexts("diskOutbox", () => diskOutbox({ directory: scratchDirectory() }));
describeWithPostgres("in a Postgres database", ({ create }) =>
  testContexts("postgresOutbox", () => create()),
);
describeWithMariaDb("in a MariaDB database", ({ create }) => testContexts("mysqlOutbox", () => create()));

it("a tracker reports an event that was shed for another visitor's in neither's context", async () => {
  const { tracker, contextsOf } = await startHeard(memoryOutbox({ maxEvents: 1 }));
  const { trackClick } = tracker;
  const click = visitor.run("ann", () => trackClick({ affiliateReference: "ALICE" }, { clickId: "ann" }));
  await Promise.all([click, payOf(tracker, "bob")]);
  expect(tracker.stats().dropped.full).toBe(1);
  expect(contextsOf("dropped")).toEqual([undefined]);
  expect(contextsOf("line")).toEqual([undefined]);
});

it("a tracker reports a storage that fails, and works again, in no visitor's context", async () => {
  let isAway = true;
  const append = async () => {
    if (isAway) throw new Error("it is away");
    return "queued" as const;
  };
  const { tracker, contextsOf, heard } = await startHeard(overStorage({ append }).outbox);
  expect(await payOf(tracker, "ann")).toMatchObject({ reason: "storage-trouble" });
  isAway = false;
  await expect.poll(() => heard.filter(({ name }) => name === "line")).toHaveLength(2);
  expect(contextsOf("line")).toEqual([undefined]);
});

it("a tracker calls listeners of a report in the context of the request that makes it", async () => {
  const { tracker, contextsOf } = await startHeard(memoryOutbox());
  const app = express();
  app.use((req, _res, next) => visitor.run(String(req.headers["x-visitor"]), next), tracker);
  const payment = (id: unknown) => ({ ...order, paymentId: String(id) });
  app.post(
    "/returned/:id",
    tracker.onPayment(async (req, res) => {
      await new Promise(setImmediate);
      res.end();
      return payment(req.params.id);
    }),
  );
  const pick = (req: express.Request) => payment(req.params.id);
  app.post("/picked/:id", tracker.onPayment(returning(undefined), pick));
  app.post("/wrong", tracker.onPayment(returning({ ...payment("wrong"), leadValue: "much" })));
  const post = (path: string, who: string) => {
    const headers = { "x-visitor": who, cookie: `svc_session_id=${who}` };
    return request(app).post(path).set(headers).expect(200);
  };
  await Promise.all([post("/returned/1", "ann"), post("/picked/2", "bob"), post("/wrong", "cy")]);
  await tracker.flush();
  expect(contextsOf("queued").toSorted()).toEqual(["ann", "bob"]);
  expect(contextsOf("dropped")).toEqual(["cy"]);
  expect(contextsOf("line")).toEqual(["cy"]);
  expect(contextsOf("delivered")).toEqual([undefined]);
});
