import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type * as z from "zod/mini";
import { type EndpointName, endpointNames, endpoints } from "./endpoints.js";
import { type Answer, parseJson, Refused } from "./http.js";
import type { LedgerStore } from "./ledger/ledger.js";
import type { Service } from "./service.js";

export interface ApiOptions {
  readonly apiKey: string;
  readonly requireKeyFor: readonly EndpointName[];
}

/** An answer, and whether it repeats an earlier one. */
export type ApiAnswer = Answer & { readonly replayed?: boolean };

/** §4, §5 and §7: from a request to an answer, whatever a stranger sends. Never throws. */
export function createApi(service: Service, ledger: LedgerStore, { apiKey, requireKeyFor }: ApiOptions) {
  function authorize(req: IncomingMessage, endpoint: EndpointName): void {
    if (!requireKeyFor.includes(endpoint)) return;
    const given = /^Bearer +(\S.*)$/i.exec(req.headers.authorization ?? "")?.[1] ?? "";
    if (timingSafeEqual(digest(given), digest(apiKey))) return;
    throw new Refused(401, "Invalid or missing API key.", { "www-authenticate": "Bearer" });
  }

  function post(
    req: IncomingMessage,
    endpoint: Exclude<EndpointName, "status">,
    body: Buffer | undefined,
  ): ApiAnswer {
    const request = validated(endpoints[endpoint].request, parseJson(req, body));
    const key = req.headers["idempotency-key"]?.toString() || undefined;
    return ledger.atomically(function answerOnce() {
      const earlier = key === undefined ? undefined : ledger.tables.answers.of(endpoint, key);
      if (earlier) return { ...earlier, headers: { "idempotent-replayed": "true" }, replayed: true };
      const answer = service[endpoint](request as never);
      if (key !== undefined) ledger.tables.answers.add(endpoint, key, answer);
      return answer;
    });
  }

  return function answer(req: IncomingMessage, body: Buffer | undefined): ApiAnswer {
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
