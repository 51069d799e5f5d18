import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { createApi } from "./api.js";
import { endpoints } from "./endpoints.js";
import type { Fault, FaultMode, Faults } from "./faults.js";
import { type Answer, readBody, refusal, sendJson } from "./http.js";
import type { LedgerStore } from "./ledger/ledger.js";

/** The endpoints over HTTP: the API's answer, or the fault in force. All of it is recorded. */
export function createTracking(api: ReturnType<typeof createApi>, ledger: LedgerStore, faults: Faults) {
  return async function handleTracking(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const started = performance.now();
    const at = new Date().toISOString();
    const fault = faults.current();
    allowBrowsers(req, res);
    if (req.method === "OPTIONS") return void res.writeHead(204).end();

    const body = await readBody(req);
    const refused = refusals[fault.mode]?.(fault);
    const answer = silent.has(fault.mode) ? undefined : (refused ?? api(req, body));
    if (fault.mode === "slow") await sleep(fault.delayMs, undefined, { ref: false });

    const answered = fault.mode === "reset-after" ? undefined : answer;
    ledger.addRequest({
      at,
      method: req.method ?? "",
      path: req.url ?? "",
      headers: masked(req),
      body: body?.toString().replaceAll("\0", "\ufffd") || null,
      status: answered?.status ?? null,
      response: answered ? JSON.stringify(answered.body) : null,
      ms: Math.round(performance.now() - started),
      fault: fault.mode,
      idempotencyKey: req.headers["idempotency-key"]?.toString() || null,
      replayed: answer !== undefined && "replayed" in answer,
      ...reportedBy(req, answer),
    });

    if (answered) return sendJson(res, answered);
    if (fault.mode === "garbage") return void req.socket.end("\u0000\u0001 this is not HTTP \r\n\r\n");
    if (fault.mode !== "hang") req.socket.resetAndDestroy();
  };
}

/** Faults that answer before the service has recorded anything. */
const refusals: { readonly [mode in FaultMode]?: (fault: Fault) => Answer } = {
  "401": () => refusal(401, "Invalid or missing API key."),
  "429": ({ retryAfterSeconds }) =>
    refusal(429, "Too many requests; see Retry-After.", { "retry-after": String(retryAfterSeconds) }),
  "500": () => refusal(500, "The sandbox was told to fail."),
  "503": () => refusal(503, "The sandbox was told to be unavailable."),
};

/** Faults that neither record nor answer. */
const silent: ReadonlySet<FaultMode> = new Set(["hang", "reset", "garbage"]);

// An answer's click id is a number if it reported a click, otherwise the client's text.
function reportedBy({ method }: IncomingMessage, answer: Answer | undefined) {
  const { clickId, leadId } = Object(method === "POST" ? answer?.body : undefined);
  return {
    recordedClick: typeof clickId === "number" ? clickId : null,
    recordedLead: typeof leadId === "number" ? leadId : null,
  };
}

// The browser snippet posts its clicks from the shop's pages. The other endpoints are for servers.
function allowBrowsers(req: IncomingMessage, res: ServerResponse): void {
  if (req.url !== endpoints.click.path) return;
  res.setHeader("access-control-allow-origin", "*");
  if (req.method !== "OPTIONS") return;
  res.setHeader("access-control-allow-methods", "POST");
  res.setHeader("access-control-allow-headers", "content-type, idempotency-key");
}

function masked(req: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(req.headers)) {
    const [scheme, ...key] = String(value).split(/\s/);
    if (/authorization$/.test(name)) headers[name] = key.length > 0 ? `${scheme} •••` : "•••";
    else headers[name] = /cookie|api-?key|token|secret/.test(name) ? "•••" : String(value);
  }
  return headers;
}
