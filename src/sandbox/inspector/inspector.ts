import type { IncomingMessage, ServerResponse } from "node:http";
import base from "../../browser/base.css?raw";
import { pageOf, policy } from "../../browser/shell.js";
import script from "../browser/inspector/main.js?script";
import style from "../browser/inspector/style.css?raw";
import type { Faults } from "../faults.js";
import { type Handler, parseJson, Refused, readBody, send, sendJson } from "../http.js";
import type { RecordedRequest } from "../ledger/entries.js";
import type { LedgerStore } from "../ledger/ledger.js";
import { limitIn, stateOf } from "./state.js";
import { recordVisitors } from "./visitors.js";

const MOST = 5000;
const page = pageOf("Affiliate sandbox");
const headers = { "content-security-policy": policy };

/** The page that shows the service at work. */
export function createInspector(ledger: LedgerStore, faults: Faults, about: () => object) {
  const visitors = recordVisitors(ledger);
  let changes = 0;
  const onChange = () => void changes++;
  ledger.events.on("entry", onChange).on("clear", onChange);

  /** What the page shows; 304 if nothing has changed since its browser asked last. */
  function sendState({ url = "", headers }: IncomingMessage, res: ServerResponse): void {
    const fault = faults.current();
    const etag = `"${[changes, ...Object.values(fault)]}"`;
    const caching = { etag, "cache-control": "no-cache" };
    if (headers["if-none-match"] === etag) return void res.writeHead(304, caching).end();
    const state = stateOf(ledger, visitors(), limitIn(queryIn(url)));
    sendJson(res, { status: 200, body: { about: about(), fault, ...state }, headers: caching });
  }

  function sendRequest({ url = "" }: IncomingMessage, res: ServerResponse): void {
    const id = Number(queryIn(url).get("id"));
    const [request] = ledger.requests({ id });
    if (!request) throw new Refused(404, `This request is not kept; the last ${MOST} are.`);
    send(res, 200, "text/plain; charset=utf-8", textOf(request), headers);
  }

  /** The last entries of each kind, in order of arrival. @throws Refused */
  function sendLedger({ url = "" }: IncomingMessage, res: ServerResponse): void {
    const limit = Number(queryIn(url).get("limit") ?? 1000);
    if (!Number.isInteger(limit) || limit < 1 || limit > MOST)
      throw new Refused(400, `limit is how many of each kind: 1 to ${MOST}; default 1000.`);
    const requests = ledger.requests().slice(-limit);
    const body = {
      clicks: ledger.clicks().slice(-limit),
      registrations: ledger.registrations().slice(-limit),
      payments: ledger.payments().slice(-limit),
      requests: requests.map(({ headers: _, body: __, response: ___, ...request }) => request),
    };
    sendJson(res, { status: 200, body });
  }

  async function setFault(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { mode, ...options } = Object(parseJson(req, await readBody(req)));
    await faults.set(mode, options).catch((error: Error) => {
      throw new Refused(error instanceof TypeError ? 422 : 409, error.message);
    });
    sendJson(res, { status: 200, body: faults.current() });
  }

  // Only JSON, so that no other site's form can press these buttons.
  async function clear(req: IncomingMessage, res: ServerResponse): Promise<void> {
    parseJson(req, await readBody(req));
    ledger.clear();
    sendJson(res, { status: 200, body: { success: true } });
  }

  const routes: Record<string, Handler> = {
    "GET /": (_req, res) => send(res, 200, "text/html; charset=utf-8", page, headers),
    "GET /style.css": (_req, res) => send(res, 200, "text/css; charset=utf-8", base + style),
    "GET /main.js": (_req, res) => send(res, 200, "text/javascript; charset=utf-8", script),
    "GET /state": sendState,
    "GET /request": sendRequest,
    "POST /fault": setFault,
    "POST /clear": clear,
  };

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url?.split("?")[0];
    const route = routes[`${req.method} ${path}`];
    if (!route) throw new Refused(404, `There is no ${req.method} ${path} here; the inspector is at /.`);
    await route(req, res);
  }

  return { handle, sendLedger };
}

const queryIn = (url: string) => new URLSearchParams(url.split("?")[1]);

/** A request and its answer for people to read, as HTTP writes them. */
function textOf(request: RecordedRequest): string {
  const { id, at, method, path, headers, body, status, response, ms, fault, replayed } = request;
  const head = Object.entries(headers).map((pair) => pair.join(": "));
  const notes = [
    `Request ${id} of ${at}, answered ${status === null ? "not at all" : `with ${status}`} in ${ms} ms`,
    fault !== "ok" && `fault: ${fault}`,
    replayed && "the answer was given before, to the same Idempotency-Key",
  ];
  const parts = [`${method} ${path}\n${head.join("\n")}`, pretty(body), pretty(response)];
  return [notes.filter(Boolean).join("; "), ...parts].filter(Boolean).join("\n\n");
}

function pretty(text: string | null): string | null {
  try {
    return text && JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
