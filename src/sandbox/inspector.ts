import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import dom from "./browser/inspector/dom.js?raw";
import main from "./browser/inspector/main.js?raw";
import page from "./browser/inspector/page.html?raw";
import requests from "./browser/inspector/requests.js?raw";
import service from "./browser/inspector/service.js?raw";
import style from "./browser/inspector/style.css?raw";
import visitors from "./browser/inspector/visitors.js?raw";
import { type Decision, decisions } from "./decisions.js";
import { type Fault, type Faults, faultModes } from "./faults.js";
import { parseJson, Refused, readBody, refusal, send, sendJson } from "./http.js";
import type { AffiliateTotals } from "./ledger/affiliates.js";
import type { RecordedRequest } from "./ledger/entries.js";
import type { LedgerStore } from "./ledger/ledger.js";
import { groupByVisitor, type Visitor } from "./visitors.js";

/** What the page says about the service. */
export interface About {
  readonly url: string;
  readonly clientId: number;
  readonly apiKey: string;
  /** Where the ledger is kept; null: in memory. */
  readonly file: string | null;
}

/** All that the page shows. It gets the whole anew whenever something has changed. */
export interface InspectorState {
  readonly about: About;
  readonly fault: Fault;
  readonly affiliates: AffiliateTotals[];
  readonly visitors: Visitor[];
  readonly requests: RecordedRequest[];
  readonly decisions: readonly Decision[];
}

/** How much of the past the page gets. */
const SHOWN = { entries: 500, visitors: 100, requests: 200, characters: 4000 };

/** A page gets at most this many states a second, however busy the service is. */
const STATES_PER_SECOND = 5;

/** How many bytes a page may leave unread. */
const MOST_UNREAD = 4 * 1024 * 1024;

const scripts = { dom, main, requests, service, visitors };

const faultRequest = z.strictObject({
  mode: z.enum(faultModes),
  forMs: z.int().positive().optional(),
  delayMs: z.int().positive().optional(),
});

/** The page that shows the service at work, and its buttons. `refresh` tells the open pages that something changed. */
export function createInspector(ledger: LedgerStore, faults: Faults, about: () => About) {
  const watchers = new Set<ServerResponse>();
  let timer: NodeJS.Timeout | undefined;

  function state(): InspectorState {
    return {
      about: about(),
      fault: faults.current(),
      affiliates: ledger.affiliates(),
      visitors: groupByVisitor(ledger.latestClicks(SHOWN.entries), ledger.latestLeads(SHOWN.entries)).slice(
        0,
        SHOWN.visitors,
      ),
      requests: ledger.latestRequests(SHOWN.requests).map((request) => ({
        ...request,
        body: request.body?.slice(0, SHOWN.characters) ?? null,
        response: request.response?.slice(0, SHOWN.characters) ?? null,
      })),
      decisions,
    };
  }

  function refresh(): void {
    if (watchers.size === 0) return;
    timer ??= setTimeout(function tellWatchers() {
      timer = undefined;
      const event = `data: ${JSON.stringify(state())}\n\n`;
      for (const watcher of watchers) {
        // It has stopped reading; a page that is still there connects anew.
        if (watcher.writableLength > MOST_UNREAD) watcher.destroy();
        else watcher.write(event);
      }
    }, 1000 / STATES_PER_SECOND).unref();
  }
  ledger.events.on("entry", refresh).on("clear", refresh);

  function watch(_req: IncomingMessage, res: ServerResponse): void {
    res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    res.write(`retry: 1000\ndata: ${JSON.stringify(state())}\n\n`);
    watchers.add(res);
    res.on("close", () => watchers.delete(res));
  }

  async function setFault(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { success, data } = faultRequest.safeParse(parseJson(req, await readBody(req)));
    if (!success)
      throw new Refused(422, `A fault is { mode, forMs?, delayMs? }, with mode ${faultModes.join(", ")}.`);
    await faults.set(data.mode, data);
    sendJson(res, { status: 200, body: faults.current() });
  }

  // JSON is asked for here too, so that no other site's form can press these buttons.
  async function clear(req: IncomingMessage, res: ServerResponse): Promise<void> {
    parseJson(req, await readBody(req));
    ledger.clear();
    sendJson(res, { status: 200, body: { success: true } });
  }

  const routes: Record<string, Handler> = {
    "GET /": (_req, res) =>
      send(res, 200, "text/html; charset=utf-8", page, { "content-security-policy": policy }),
    "GET /style.css": (_req, res) => send(res, 200, "text/css; charset=utf-8", style),
    ...Object.fromEntries(Object.entries(scripts).map(([name, text]) => [`GET /${name}.js`, script(text)])),
    "GET /events": watch,
    "POST /fault": setFault,
    "POST /clear": clear,
  };

  async function handleInspector(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url?.split("?")[0];
    const route = routes[`${req.method} ${path}`];
    if (!route)
      return sendJson(res, refusal(404, `There is no ${req.method} ${path} here; the inspector is at /.`));
    await route(req, res);
  }

  return { handleInspector, refresh, stop: () => clearTimeout(timer) };
}

type Handler = (req: IncomingMessage, res: ServerResponse) => void | Promise<void>;

function script(text: string): Handler {
  return (_req, res) => send(res, 200, "text/javascript; charset=utf-8", text);
}

// A second lock: the page's script writes texts only, and even if it did not, nothing but its own files would run.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
