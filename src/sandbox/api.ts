import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type * as z from "zod/mini";
import { type EndpointName, endpointNames, endpoints } from "./endpoints.js";
import type { Fault, FaultMode, Faults } from "./faults.js";
import { type Answer, parseJson, Refused, readBody, refusal, sendJson } from "./http.js";
import type { LedgerStore } from "./ledger/ledger.js";
import type { Service } from "./service.js";

export interface ApiOptions {
  readonly apiKey: string;
  readonly requireKeyFor: readonly EndpointName[];
}

const REPLAYED = "idempotent-replayed";

/** §4, §5 and §7: from a request to an answer, whatever a stranger sends. */
function createApi(service: Service, ledger: LedgerStore, { apiKey, requireKeyFor }: ApiOptions) {
  function authorize(req: IncomingMessage, endpoint: EndpointName): void {
    if (!requireKeyFor.includes(endpoint)) return;
    const given = /^Bearer +(\S.*)$/i.exec(req.headers.authorization ?? "")?.[1] ?? "";
    if (timingSafeEqual(digest(given), digest(apiKey))) return;
    throw new Refused(401, "Invalid or missing API key.", { "www-authenticate": "Bearer" });
  }

  function post(req: IncomingMessage, endpoint: Exclude<EndpointName, "status">, body?: Buffer): Answer {
    const request = validated(endpoints[endpoint].request, parseJson(req, body));
    const key = idempotencyKeyOf(req) && `${endpoint} ${idempotencyKeyOf(req)}`;
    const earlier = key && ledger.answerTo(key);
    if (earlier) return { ...earlier, headers: { [REPLAYED]: "true" } };
    const answer = service[endpoint](request as never);
    if (key) ledger.keepAnswer(key, answer);
    ledger.save();
    return answer;
  }

  return function answer(req: IncomingMessage, body: Buffer | undefined): Answer {
    try {
      const { endpoint, sessionId } = route(req);
      authorize(req, endpoint);
      return endpoint === "status" ? service.status(sessionId) : post(req, endpoint, body);
    } catch (error) {
      if (error instanceof Refused) return error.answer;
      throw error;
    }
  };
}

const idempotencyKeyOf = ({ headers }: IncomingMessage) => headers["idempotency-key"]?.toString() || null;

const prefix = endpoints.status.path.slice(0, endpoints.status.path.indexOf("{"));

function route(req: IncomingMessage): { endpoint: EndpointName; sessionId: string } {
  const path = (req.url ?? "").split("?")[0] ?? "";
  const isStatus = path.startsWith(prefix) && /^[^/]+$/.test(path.slice(prefix.length));
  const endpoint = isStatus ? "status" : endpointNames.find((name) => endpoints[name].path === path);
  if (!endpoint) throw new Refused(404, `There is no ${path}; the endpoints are listed at /openapi.json.`);
  const { method } = endpoints[endpoint];
  if (req.method !== method) throw new Refused(405, `${path} is for ${method}.`, { allow: method });
  return { endpoint, sessionId: isStatus ? decoded(path.slice(prefix.length)) : "" };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refused(400, "The session id in the path is not valid percent-encoded UTF-8.");
  }
}

function validated<S extends z.ZodMiniType>(schema: S, json: unknown): z.infer<S> {
  const { success, data, error } = schema.safeParse(json);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${path.join(".") || "body"}: ${message}`);
  throw new Refused(422, problems.join("; "));
}

// timingSafeEqual wants one length.
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** The endpoints over HTTP: the API's answer, or the fault in force. All of it is recorded. */
export function createTracking(service: Service, ledger: LedgerStore, faults: Faults, options: ApiOptions) {
  const api = createApi(service, ledger, options);

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
    // A click's answer has the service's number of it, a registration's the client's text.
    const { clickId, leadId } = Object(req.method === "POST" ? answer?.body : undefined);
    ledger.addRequest({
      at,
      method: req.method ?? "",
      path: req.url ?? "",
      headers: masked(req),
      body: body?.toString() || null,
      status: answered?.status ?? null,
      response: answered ? JSON.stringify(answered.body) : null,
      ms: Math.round(performance.now() - started),
      fault: fault.mode,
      idempotencyKey: idempotencyKeyOf(req),
      replayed: answer?.headers?.[REPLAYED] !== undefined,
      recordedClick: typeof clickId === "number" ? clickId : null,
      recordedLead: typeof leadId === "number" ? leadId : null,
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

// The browser snippet posts its clicks from the shop's pages. The other endpoints are for servers.
function allowBrowsers(req: IncomingMessage, res: ServerResponse): void {
  if (req.url !== endpoints.click.path) return;
  res.setHeader("access-control-allow-origin", "*");
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
