import { Readable } from "node:stream";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import type { ErrorRequestHandler, NextFunction, Request, Response } from "express";
import { affiliate } from "express-affiliate";
import { recordingOutbox } from "express-affiliate/testing";
import { eachExpress } from "../../../test/helpers/express.js";
import { serve } from "../../shared/serve.js";
import type { Pause, Script, Seen } from "./script.js";

/** A visit that is under way. */
export interface Visit {
  readonly script: Script;
  readonly seen: Seen;
}

/** An app whose only route does what each visitor's script says. */
export async function startHost(name: Script["express"], visits: readonly Visit[]) {
  // Durable: nothing is delivered, and `waitUntil` waits for what is not stored.
  const outbox = Object.assign(recordingOutbox(), { durable: true });
  const working = new Set<Promise<unknown>>();
  const work = (promise: Promise<unknown>) => {
    working.add(promise);
    const end = () => void working.delete(promise);
    promise.then(end, end);
  };
  const unsettled = new Set<Promise<void>>();
  const tracker = affiliate({
    baseUrl: "http://127.0.0.1:1",
    clientId: 1,
    outbox,
    delivery: false,
    logger: { warn() {}, error() {} },
    waitUntil(promise) {
      unsettled.add(promise);
      void promise.then(() => unsettled.delete(promise));
    },
  });

  const visitOf = (req: Request) => visits[Number(req.params.nth)] as Visit;
  const paymentOf = (req: Request) => ({
    paymentId: String(req.params.nth),
    customerEmail: "ada@shop.example",
    leadValue: 1,
  });

  function answer(req: Request, res: Response, next: NextFunction): void {
    const { script, seen } = visitOf(req);
    const { way, status } = script;
    if (way === "next") next();
    else if (way === "next(error)") {
      seen.failedInTime = !res.closed;
      next(new Error("declined"));
    } else if (way !== "never") respond(res, way, status);
  }

  async function handle(req: Request, res: Response, next: NextFunction) {
    const { script, seen } = visitOf(req);
    seen.begun = true;
    for (const wait of script.waits) if (wait !== "none") await paused(wait);
    if (script.answers === "before it returns") answer(req, res, next);
    if (script.result === "throws") throw new Error("out of stock");
    if (script.result === "rejects with nothing") return Promise.reject(undefined);
    if (script.answers === "in a callback") work(paused(script.callback).then(() => answer(req, res, next)));
    if (script.result === "response") return res;
    return script.result === "payment" ? paymentOf(req) : undefined;
  }
  const returned = tracker.onPayment(handle as never);
  const picked = tracker.onPayment(handle, (req) =>
    visitOf(req as Request).script.result === "payment" ? paymentOf(req as Request) : undefined,
  );

  /** Another handler, or the error handler. */
  function then(res: Response, pause: Pause, act: () => void): void {
    const acts = () => {
      if (!res.headersSent) act();
    };
    if (pause === "none") acts();
    else work(paused(pause).then(acts));
  }

  const app = (eachExpress.find((each) => each.name === name) as (typeof eachExpress)[number]).express();
  app.post("/:nth", (req, res, next) => {
    const { script, seen } = visitOf(req);
    res.on("error", () => {});
    res.once("close", () => {
      seen.closed = true;
      seen.head = res.headersSent ? res.statusCode : undefined;
    });
    if (script.before === "none") next();
    else work(paused(script.before).then(() => next()));
  });
  app.use(tracker);
  app.post("/:nth", (req, res, next) => {
    (visitOf(req).script.wrapped === "pick" ? picked : returned)(req as never, res as never, next);
  });
  app.post("/:nth", (req, res) => {
    const { status, after } = visitOf(req).script;
    then(res, after, () => res.status(status).end());
  });
  app.use(((error, req, res, next) => {
    const nth = /\d+/.exec(req.path)?.[0];
    if (res.headersSent) return next(error);
    then(res, (visits[Number(nth)] as Visit).script.after, () => res.status(500).end());
  }) as ErrorRequestHandler);
  app.set("env", "test");

  const { port, stop } = await serve(app);

  return {
    port,
    tracker,
    /** The payments that were reported, by visit. */
    reported: () => outbox.events.map(({ data }) => Number((data as { paymentId: string }).paymentId)),
    /** Ends once the app is done. Resolves to how many promises of `waitUntil` are not settled. */
    async end(): Promise<number> {
      await stop();
      while (working.size > 0) await Promise.allSettled(working);
      for (let turns = 0; turns < 10 && unsettled.size > 0; turns++) await sleep(10);
      await tracker.close();
      return unsettled.size;
    },
  };
}

function respond(res: Response, way: Script["way"], status: number): void {
  if (way === "writeHead") return void res.writeHead(status).end();
  res.status(status);
  if (way === "json") res.json({});
  else if (way === "stream") Readable.from(["a", "b", "c"]).pipe(res);
  else {
    if (way === "writes") for (let n = 0; n < 3; n++) res.write("part");
    res.end();
    if (way === "twice") res.end();
  }
}

async function paused(pause: Pause): Promise<void> {
  if (pause === "turn") await turn();
  else if (pause !== "none") await sleep(pause);
}
