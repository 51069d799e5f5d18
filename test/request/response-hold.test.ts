import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import type { Express, NextFunction, Request, RequestHandler, Response } from "express";
import { memoryOutbox, type Payment } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { describe, expect, it, vi } from "vitest";
import { order } from "../helpers/conversions.js";
import { eachExpress, serve } from "../helpers/express.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startTracker } from "../helpers/tracker.js";
import { withResolvers } from "../helpers/with-resolvers.js";

type Handler = (req: Request, res: Response, next: NextFunction) => Payment | Promise<Payment>;
/** Passes on, so that another one answers. */
type Route = Handler | readonly [Handler, RequestHandler];

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
  const tracker = startTracker({ baseUrl: "http://127.0.0.1:1", outbox });
  const app = express();
  app.set("env", "test");
  if (before) app.use(before);
  for (const [name, route] of Object.entries(routes)) {
    const [handler, ...after] = [route].flat() as [Handler, RequestHandler?];
    app.post(`/${name}`, tracker.onPayment(handler), ...(after as RequestHandler[]));
  }
  const { port } = await serve(app);
  return {
    tracker,
    /** What a visitor gets. */
    async read(...paths: string[]): Promise<string> {
      const socket = connect(port, "127.0.0.1", () => socket.write(requestsOf(paths)));
      let text = "";
      socket.on("data", (bytes) => {
        text += bytes.toString("latin1");
      });
      socket.on("error", () => {});
      await once(socket, "close");
      return text;
    },
    async visit(...paths: string[]): Promise<{ atFirstByte: number; text: string }> {
      Atomics.store(new Int32Array(stored), 0, 0);
      const workerData = { stored, port, requests: requestsOf(paths) };
      const [seen] = await once(new Worker(VISITOR, { eval: true, workerData }), "message");
      return seen;
    },
  };
}

/** A handler that goes on for a while after it has answered. */
const answering =
  (answer: (res: Response) => unknown, ms = 10): Handler =>
  (_req, res) => {
    answer(res);
    compute(ms);
    return order;
  };

const sent: Record<string, Handler> = {
  json: answering((res) => res.json({ id: 1 }), 40),
  late: async (_req, res) => {
    await new Promise(setImmediate);
    res.status(201).json({ id: 1 });
    await null;
    compute(40);
    return order;
  },
  text: answering((res) => res.end("done")),
  empty: answering((res) => res.status(204).end()),
  twice: answering((res) => {
    res.end("done");
    res.end();
  }),
  head: (_req, res) => {
    res.writeHead(201, { "x-order": "1" });
    res.flushHeaders();
    compute(10);
    res.end("done");
    return order;
  },
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
  written: async (_req, res) => {
    res.write("a");
    compute(10);
    res.end("b");
    return order;
  },
};
/** A handler passes on to this one before it returns its payment. */
const passing = (after: RequestHandler): Route => [
  (_req, _res, next) => {
    next();
    return order;
  },
  after,
];
/** These end a response whose bytes are on their way. */
const cutOff: Record<string, Route> = {
  destroysSocket: (req, res) => {
    res.json({ id: 1 });
    req.socket.destroy();
    return order;
  },
  destroysRequest: (req, res) => {
    res.json({ id: 1 });
    req.destroy();
    return order;
  },
  destroysResponse: (_req, res) => {
    res.json({ id: 1 });
    res.destroy();
    return order;
  },
  thenThrows: passing((_req, res) => {
    res.json({ id: 1 });
    throw new Error("late");
  }),
  thenFails: passing((_req, res, next) => {
    res.json({ id: 1 });
    next(new Error("late"));
  }),
  thenFailsLater: passing((_req, res, next) => {
    res.json({ id: 1 });
    process.nextTick(next, new Error("late"));
  }),
};
describe.each(eachExpress)("the response on $name", ({ express }) => {
  it.each(Object.keys(sent))("leaves after the event is stored: %s", async (name) => {
    const { visit } = await startHost(express, sent);
    expect((await visit(`/${name}`)).atFirstByte).toBe(1);
  });

  it("leaves after the event is stored, on connections that are kept and with requests that wait in line", async () => {
    const { visit } = await startHost(express, sent);
    expect((await visit("/json", "/late", "/text")).atFirstByte).toBeGreaterThan(0);
    expect((await visit("/text", "/json")).atFirstByte).toBeGreaterThan(0);
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
    const { read, tracker } = await startHost(express, cutOff);
    expect(await read(`/${name}`)).toMatch(/^HTTP\/1.1 200 .*{"id":1}$/s);
    await expect.poll(() => tracker.stats().queued).toBe(1);
  });

  it.each([true, false])("is held only for an outbox that stores at once: %s", async (storesAtOnce) => {
    let isHeld: boolean | undefined;
    const text: Handler = (_req, res) => {
      res.end("done");
      isHeld = res.socket?.writableLength !== 0;
      return order;
    };
    const { read } = await startHost(express, { text }, { storesAtOnce });
    await read("/text");
    expect(isHeld).toBe(storesAtOnce);
  });

  it("looks sent to the handler, and its `finish` comes in the request's async context", async () => {
    const storage = new AsyncLocalStorage<string>();
    let seen: unknown;
    const finished: unknown[] = [];
    const onFinish = () => finished.push(storage.getStore());
    const handlers: Record<string, Handler> = {
      seen: (_req, res) => {
        res.once("finish", onFinish).json({ id: 1 });
        seen = [res.headersSent, res.writableEnded, res.finished];
        return order;
      },
      late: async (_req, res) => {
        await once(res.once("finish", onFinish).json({ id: 1 }), "finish");
        return order;
      },
    };
    const { read } = await startHost(express, handlers, {
      before: (_req, _res, next) => storage.run("request", next),
    });
    await read("/seen", "/late");
    expect(seen).toEqual([true, true, true]);
    expect(finished).toEqual(["request", "request"]);
  });
});

it("a hold is asked for by `diskOutbox`, which keeps an event from `kill -9` within `add`, and by no other outbox", () => {
  const disk = diskOutbox({ directory: scratchDirectory() });
  startTracker({ baseUrl: "http://127.0.0.1:1", outbox: disk });
  expect(disk.storesAtOnce).toBe(true);
  const memory = memoryOutbox();
  startTracker({ baseUrl: "http://127.0.0.1:1", outbox: memory });
  expect(memory.storesAtOnce ?? false).toBe(false);
});
