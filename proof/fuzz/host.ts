import cookieParser from "cookie-parser";
import express, { type ErrorRequestHandler } from "express";
import { affiliate, type Logger } from "express-affiliate";
import { recordingOutbox } from "express-affiliate/testing";
import session from "express-session";
import { serve } from "../shared/serve.js";
import { problemsWith } from "./checks.js";

/** A key whose appearance anywhere is a failure. */
export const API_KEY = "sk_fuzz_0123456789abcdefghij";

/** What the host says when it is done. `longestBlockMs`: that its event loop was kept busy. */
export interface HostReport {
  readonly events: number;
  readonly problems: readonly string[];
  readonly longestBlockMs: number;
}

/** A host that hands strangers' input to the package as it comes. */
export async function runHost(): Promise<void> {
  const problems = new Set<string>();
  for (const name of ["uncaughtException", "unhandledRejection", "warning"] as const)
    process.on(name, (what: unknown) => problems.add(`${name}: ${(what as Error)?.stack ?? what}`));

  const check = (line: string) => {
    if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(line)) problems.add(`a log line is not one: ${JSON.stringify(line)}`);
    if (line.includes(API_KEY)) problems.add("a log line holds the key");
  };
  const logger: Logger = { debug: check, info: check, warn: check, error: check };
  const outbox = recordingOutbox();
  const options = { baseUrl: "http://127.0.0.1:1", clientId: 1, apiKey: API_KEY, outbox, logger };
  const plain = affiliate(options);
  const signed = affiliate({ ...options, signed: ["the newest secret", "an earlier secret"] });
  let events = 0;
  let [longestBlockMs, lookedAt, used] = [0, performance.now(), process.cpuUsage()];
  const look = setInterval(() => {
    // What this process has worked: others may have had the processor. Its other threads work too.
    const { user, system } = process.cpuUsage(used);
    const busyMs = Math.round(Math.min(performance.now() - lookedAt, (user + system) / 1_000));
    longestBlockMs = Math.max(longestBlockMs, busyMs);
    [lookedAt, used] = [performance.now(), process.cpuUsage()];
    for (const event of outbox.events.splice(0)) {
      events++;
      for (const problem of problemsWith(event)) problems.add(problem);
    }
  }, 20);

  const app = express().set("query parser", "extended").set("trust proxy", true);
  for (const [path, { before, tracker }] of Object.entries({
    "/bare": { before: [], tracker: plain },
    "/parsed": { before: [cookieParser("secret")], tracker: signed },
    "/session": {
      before: [session({ secret: "s", resave: false, saveUninitialized: true })],
      tracker: plain,
    },
  })) {
    const shop = express.Router();
    shop.use(...before, express.json({ strict: false, limit: "64kb" }), tracker);
    shop.get(/.*/, tracker.onClick(), (req, res) => void res.json(req.affiliate?.snapshot()));
    shop.post(
      "/registration",
      tracker.onRegistration((req, res) => {
        res.end();
        return req.body;
      }),
    );
    shop.post(
      "/payment",
      tracker.onPayment(
        (_req, res) => void res.end(),
        (req) => req.body,
      ),
    );
    shop.post("/later", async (req, res) => {
      const { kind, happened, attribution } = Object(req.body);
      const track =
        [tracker.trackClick, tracker.trackRegistration, tracker.trackPayment][kind] ?? tracker.trackPayment;
      const { outcome } = await track(happened, attribution);
      const { clickId = null } = tracker.attributionOf(Object(req.body).source ?? req);
      res.json({ outcome, clickId });
    });
    app.use(path, shop);
  }
  app.use(((error, _req, res, _next) => {
    const { status = 500 } = error as { status?: number };
    if (status >= 500) problems.add(`a handler failed: ${(error as Error).stack}`);
    if (!res.headersSent) res.status(status).end();
  }) as ErrorRequestHandler);
  process.send?.(`http://127.0.0.1:${(await serve(app)).port}`);
  // Until then the first requests were compiled for.
  setTimeout(() => {
    longestBlockMs = 0;
  }, 3_000).unref();
  process.once("message", () => {
    setTimeout(() => {
      clearInterval(look);
      const report: HostReport = { events, problems: [...problems], longestBlockMs };
      process.send?.(report, () => process.exit(0));
    }, 200);
  });
}
