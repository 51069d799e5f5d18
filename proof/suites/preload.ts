/**
 * Loaded before the tests of other people's middleware. `IN_FRONT` says what stands before each
 * request of this process: a tracker, whose every response sets cookies and awaits a payment; or
 * nothing. The cookies of the tracker are taken from what clients receive.
 */
import http from "node:http";
import type { Request, Response } from "express";
import { affiliate } from "express-affiliate";
import { recordingOutbox } from "express-affiliate/testing";

const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0";

if (process.env.IN_FRONT === "tracker") putInFront(http.Server.prototype);

function putInFront(servers: http.Server): void {
  const tracker = affiliate({
    baseUrl: "http://127.0.0.1:1",
    clientId: 1,
    outbox: Object.assign(recordingOutbox(), { storesAtOnce: true }),
    logger: { warn() {}, error() {} },
  });
  const above = [tracker, tracker.keepClickId(), tracker.onClick({ param: "ref" })];
  let payments = 0;
  const { emit } = servers;

  servers.emit = function emitBehindTracker(this: http.Server, name: string, ...args: unknown[]) {
    if (name !== "request") return Reflect.apply(emit, this, [name, ...args]);
    const [req, res] = args as [Request, Response];
    asLanding(req, () => {
      for (const middleware of above) middleware(req, res, () => {});
    });
    const handler = tracker.onPayment(() => {
      Reflect.apply(emit, this, [name, req, res]);
      return { paymentId: ++payments, customerEmail: "ann@shop.example", leadValue: 1 };
    });
    handler(req, res, (error) => {
      if (error) throw error;
    });
    return true;
  } as typeof emit;
}

/** Has the middleware see a page that a person opens by an affiliate's link. */
function asLanding(req: Request, look: () => void): void {
  const { headers, method } = req;
  const seen = {
    originalUrl: "/?ref=ALICE",
    method: "GET",
    headers: { accept: "text/html", "user-agent": BROWSER, cookie: "svc_click_id=c1" },
    hostname: "shop.example",
    protocol: "http",
    secure: false,
    get: (name: string) => (name === "host" ? "shop.example" : undefined),
  };
  Object.assign(req, seen);
  look();
  for (const name of Object.keys(seen)) Reflect.deleteProperty(req, name);
  Object.assign(req, { headers, method });
}

const { emit } = http.ClientRequest.prototype;
http.ClientRequest.prototype.emit = function emitWithoutCookies(
  this: http.ClientRequest,
  name: string,
  ...args
) {
  if (name === "response") removeCookies(args[0] as http.IncomingMessage);
  return Reflect.apply(emit, this, [name, ...args]);
} as typeof emit;

function removeCookies({ headers }: http.IncomingMessage): void {
  const others = headers["set-cookie"]?.filter((line) => !line.startsWith("svc_")) ?? [];
  if (others.length > 0) headers["set-cookie"] = others;
  else delete headers["set-cookie"];
}
