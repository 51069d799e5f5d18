import type { IncomingMessage, ServerResponse } from "node:http";
import base from "../browser/base.css?raw";
import { policyWith, shellOf } from "../browser/shell.js";
import script from "./browser/inspector/main.js?script";
import style from "./browser/inspector/style.css?raw";
import type { Faults } from "./faults.js";
import { parseJson, Refused, readBody, send, sendJson } from "./http.js";
import { readView, stateFor } from "./inspector/state.js";
import { sendLedger } from "./ledger/document.js";
import type { LedgerStore } from "./ledger/ledger.js";

export interface About {
  readonly url: string;
  readonly clientId: number;
  readonly apiKey: string;
  /** Where the ledger is kept; null: in memory. */
  readonly file: string | null;
}

const shell = shellOf("Affiliate sandbox", "data:,");
const policy = policyWith("data:");

/** The page that shows the service at work. */
export function createInspector(ledger: LedgerStore, faults: Faults, about: () => About) {
  // Later than each version of a sandbox that had this port before.
  let version = Date.now();
  function onChange(): void {
    version += 1;
  }
  ledger.events.on("entry", onChange).on("clear", onChange);

  /** What the page shows; 204 if nothing has changed since the version that it has. */
  function sendState({ url = "" }: IncomingMessage, res: ServerResponse): void {
    const view = readView(url);
    if (view.version === version) return void res.writeHead(204).end();
    sendJson(res, { status: 200, body: { version, about: about(), state: stateFor(ledger, faults, view) } });
  }

  function oneRequest(req: IncomingMessage, res: ServerResponse): void {
    const id = /[?&]id=(\d{1,15})$/.exec(req.url ?? "")?.[1];
    const request = id && ledger.tables.requests.ofNumber(Number(id));
    if (!request) throw new Refused(404, `Request ${id} is not kept; the last 5000 are.`);
    sendJson(res, { status: 200, body: request });
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
    "GET /": (_req, res) =>
      send(res, 200, "text/html; charset=utf-8", shell, { "content-security-policy": policy }),
    "GET /base.css": (_req, res) => send(res, 200, "text/css; charset=utf-8", base),
    "GET /style.css": (_req, res) => send(res, 200, "text/css; charset=utf-8", style),
    "GET /main.js": (_req, res) => send(res, 200, "text/javascript; charset=utf-8", script),
    "GET /state": sendState,
    "GET /request": oneRequest,
    "GET /ledger.json": (req, res) => sendLedger(req, res, ledger),
    "POST /fault": setFault,
    "POST /clear": clear,
  };

  async function handleInspector(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url?.split("?")[0];
    const route = routes[`${req.method} ${path}`];
    if (!route) throw new Refused(404, `There is no ${req.method} ${path} here; the inspector is at /.`);
    await route(req, res);
  }

  return { handleInspector, onChange };
}

type Handler = (req: IncomingMessage, res: ServerResponse) => void | Promise<void>;
