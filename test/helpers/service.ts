import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { listening } from "./listening.js";

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it.
  readonly body: any;
}

/** Answers one request; its result is sent as JSON, unless it has answered by itself. */
export type Answer = (request: Received, res: ServerResponse) => unknown;

/**
 * A tracking service that records its requests, and gives the answers of the test. Ends with the
 * test.
 */
export async function startService(answer: Answer = () => ({ success: true, leadId: 1 })) {
  const received: Received[] = [];
  // Everything but status requests.
  const posted: Received[] = [];
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const request = {
      method: req.method ?? "",
      path: req.url ?? "",
      headers: req.headers,
      body: text ? JSON.parse(text) : undefined,
    };
    received.push(request);
    if (request.method === "POST") posted.push(request);
    const said = answer(request, res);
    if (!res.headersSent && !res.writableEnded && said !== undefined) {
      res.setHeader("content-type", "application/json");
      res.end(JSON.stringify(said));
    }
  });
  let connections = 0;
  server.on("connection", () => connections++);
  return {
    url: `http://127.0.0.1:${await listening(server)}`,
    received,
    posted,
    /** How many there have been. */
    get connections() {
      return connections;
    },
  };
}
