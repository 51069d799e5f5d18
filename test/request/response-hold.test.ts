import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Express, NextFunction, Request, RequestHandler, Response } from "express";
import { memoryOutbox, type Payment } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { describe, expect, it, vi } from "vitest";
import { order, throwing } from "../helpers/conversions.js";
import { eachExpress, serve } from "../helpers/express.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startTracker } from "../helpers/tracker.js";
import { withResolvers } from "../helpers/with-resolvers.js";

type Handler = (req: Request, res: Response, next: NextFunction) => unknown;
/** Passes on, so that another one answers. */
type Route = Handler | readonly [Handler, Handler];

/**
 * A visitor in a thread of its own: what the host's thread computes does not keep it from reading.
 */
const VISITOR = `
  const { connect } = require("node:net");
  const { parentPort, workerData } = require("node:worker_threads");
  const stored = new Int32Array(workerData.stored);
  const socket = connect(workerData.port, "127.0.0.1", () => socket.write(workerData.requests));
  let atFirstByte, text = "";
  socket.on("data", (bytes) => {
    atFirstByte ??= Atomics.load(stored, 0);
    text += bytes.toString("latin1");
  });
  socket.on("error", () => {});
  socket.on("close", () => parentPort.postMessage({ atFirstByte, text }));
`;

const requestsOf = (paths: readonly string[]) =>
  paths
    .map((path, nth) => {
      const last = nth === paths.length - 1 ? "Connection: close\r\n" : "";
      return `POST ${path} HTTP/1.1\r\nHost: shop\r\n${last}Cookie: svc_session_id=s1\r\n\r\n`;
    })
    .join("");

const compute = (ms: number) => {
  const start = performance.now();
  while (performance.now() - start < ms);
};

async function startHost(
  express: () => Express,
  routes: Record<string, Route>,
  { storesAtOnce = true, before }: { storesAtOnce?: boolean; before?: RequestHandler } = {},
) {
  const stored = new SharedArrayBuffer(4);
  const outbox = Object.assign(memoryOutbox(), { storesAtOnce });
  const { add } = outbox;
  vi.spyOn(outbox, "add").mockImplementation((...args) => {
    Atomics.add(new Int32Array(stored), 0, 1);
    return add.apply(outbox, args);
  });
  const tracker = startTracker({ outbox });
  const app = express();
  app.set("env", "test");
  if (before) app.use(before);
  for (const [name, route] of Object.entries(routes)) {
    const [handler, ...after] = [route].flat() as [Handler, Handler?];
    app.post(`/${name}`, tracker.onPayment(handler as () => Payment), ...(after as RequestHandler[]));
  }
  const { port } = await serve(app);
  return {
    tracker,
    async visit(...paths: string[]): Promise<{ atFirstByte: number; text: string }> {
      Atomics.store(new Int32Array(stored), 0, 0);
      const workerData = { stored, port, requests: requestsOf(paths) };
      const [seen] = await once(new Worker(VISITOR, { eval: true, workerData }), "message");
      return seen;
    },
  };
}

/** A handler that goes on after it has answered: it computes for a while, or does what is given. */
const answering =
  (answer: (res: Response) => unknown, then: Handler = () => compute(20)): Handler =>
  (...args) => {
    answer(args[1]);
    then(...args);
    return order;
  };
const json = (res: Response) => res.json({ id: 1 });

const sent: Record<string, Handler> = {
  json: answering(json),
  late: async (_req, res) => {
    await new Promise(setImmediate);
    res.status(201).json({ id: 1 });
    await null;
    compute(20);
    return order;
  },
  empty: answering((res) => res.status(204).end()),
  head: answering(
    (res) => res.writeHead(201, { "x-order": "1" }).flushHeaders(),
    (_req, res) => res.end("done"),
  ),
  writes: answering((res) => {
    for (let n = 0; n < 1_000; n++) res.write("x".repeat(100));
    res.end();
  }),
  corked: answering((res) => {
    res.cork();
    res.write("a");
    res.uncork();
    res.end("b");
  }),
  written: answering(
    (res) => res.write("a"),
    (_req, res) => res.end("b"),
  ),
};
/** A handler passes on to this one before it returns its payment. */
const passing = (then: Handler): Route => [
  answering(
    () => {},
    (_req, _res, next) => next(),
  ),
  answering(json, then),
];
/** These end a response whose bytes are on their way. */
const cutOff: Record<string, Route> = {
  destroysSocket: answering(json, (req) => req.socket.destroy()),
  destroysRequest: answering(json, (req) => req.destroy()),
  destroysResponse: answering(json, (_req, res) => res.destroy()),
  thenThrows: passing(throwing("late")),
  thenFails: passing((_req, _res, next) => next(new Error("late"))),
  thenFailsLater: passing((_req, _res, next) => process.nextTick(next, new Error("late"))),
};

describe.each(eachExpress)("the response on $name", ({ express }) => {
  it.each(Object.keys(sent))("leaves after the event is stored: %s", async (name) => {
    const { visit } = await startHost(express, sent);
    expect((await visit(`/${name}`)).atFirstByte).toBe(1);
  });

  it("leaves after the event is stored, on connections that are kept and with requests that wait in line", async () => {
    const { visit } = await startHost(express, sent);
    expect((await visit("/json", "/late", "/writes")).atFirstByte).toBeGreaterThan(0);
    expect((await visit("/writes", "/json")).atFirstByte).toBeGreaterThan(0);
  });

  it("does not wait for a handler that takes longer than its turn of the event loop", async () => {
    const gone = withResolvers();
    const { visit, tracker } = await startHost(express, {
      slow: async (_req, res) => {
        res.json({ id: 1 });
        await gone.promise;
        return order;
      },
    });
    expect(await visit("/slow")).toMatchObject({ atFirstByte: 0, text: expect.stringContaining('{"id":1}') });
    gone.resolve();
    await expect.poll(() => tracker.stats().queued).toBe(1);
  });

  it.each(Object.keys(cutOff))("reaches the visitor, and its payment is reported: %s", async (name) => {
    const { visit, tracker } = await startHost(express, cutOff);
    expect((await visit(`/${name}`)).text).toMatch(/^HTTP\/1.1 200 .*{"id":1}$/s);
    await expect.poll(() => tracker.stats().queued).toBe(1);
  });

  it.each([true, false])("is held only for an outbox that stores at once: %s", async (storesAtOnce) => {
    let isHeld: boolean | undefined;
    const handler = answering(json, (_req, res) => {
      isHeld = res.socket?.writableLength !== 0;
    });
    await (await startHost(express, { json: handler }, { storesAtOnce })).visit("/json");
    expect(isHeld).toBe(storesAtOnce);
  });

  it("looks sent to the handler, and its `finish` comes in the request's async context", async () => {
    const storage = new AsyncLocalStorage<string>();
    let seen: unknown;
    const finished: unknown[] = [];
    const answer = (res: Response) => json(res.once("finish", () => finished.push(storage.getStore())));
    const handlers: Record<string, Handler> = {
      seen: answering(answer, (_req, res) => {
        seen = [res.headersSent, res.writableEnded, res.finished];
      }),
      late: async (_req, res) => {
        await once(answer(res), "finish");
        return order;
      },
    };
    const before: RequestHandler = (_req, _res, next) => storage.run("request", next);
    await (await startHost(express, handlers, { before })).visit("/seen", "/late");
    expect(seen).toEqual([true, true, true]);
    expect(finished).toEqual(["request", "request"]);
  });
});

it("a hold is asked for by `diskOutbox`, which keeps an event from `kill -9` within `add`, and by no other outbox", () => {
  const disk = diskOutbox({ directory: scratchDirectory() });
  startTracker({ outbox: disk });
  expect(disk.storesAtOnce).toBe(true);
  const memory = memoryOutbox();
  startTracker({ outbox: memory });
  expect(memory.storesAtOnce ?? false).toBe(false);
});
