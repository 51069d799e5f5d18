import { setTimeout as sleep } from "node:timers/promises";
import { CHROME } from "../browser/chromium.js";

interface Result {
  readonly statusCode: number;
  readonly cookies?: readonly string[];
}

export type Handler = (event: object, context: object) => Promise<Result>;

const PATIENCE_MS = 10_000;

/** A function as docs/serverless.md has it: it returns once all that it has reported is delivered. */
export function functionOf(serve: Handler, pending: Promise<void>[]): Handler {
  return async function handler(event, context) {
    const work = async () => {
      const response = await serve(event, context);
      await Promise.all(pending.splice(0));
      return response;
    };
    const late = sleep(PATIENCE_MS, undefined, { ref: false }).then(() => {
      throw new Error(`an invocation has not returned after ${PATIENCE_MS} ms`);
    });
    return Promise.race([work(), late]);
  };
}

/** A visitor's browser, whose requests come as events of API Gateway. */
export function visitorOf(invoke: Handler) {
  const cookies = new Map<string, string>();

  async function send(method: string, path: string, headers: Record<string, string>, body?: string) {
    const [rawPath = "", rawQueryString = ""] = path.split("?");
    const event = {
      version: "2.0",
      routeKey: "$default",
      rawPath,
      rawQueryString,
      cookies: [...cookies].map((pair) => pair.join("=")),
      headers: { host: "shop.example", "user-agent": CHROME, "x-forwarded-proto": "https", ...headers },
      requestContext: {
        http: { method, path: rawPath, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: CHROME },
        stage: "$default",
        requestId: "1",
      },
      body,
      isBase64Encoded: false,
    };
    const { statusCode, cookies: set = [] } = await invoke(event, {});
    for (const line of set) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    if (statusCode >= 400) throw new Error(`${method} ${path} answers ${statusCode}`);
  }

  return {
    cookies,
    open: (path: string) =>
      send("GET", path, { accept: "text/html", "sec-fetch-dest": "document", "sec-fetch-mode": "navigate" }),
    post: (path: string, body: object) =>
      send("POST", path, { "content-type": "application/json" }, JSON.stringify(body)),
  };
}
