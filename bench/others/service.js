import { once } from "node:events";
import { createServer } from "node:http";
import { gunzipSync } from "node:zlib";

/**
 * A tracking service that can fail: `down`, `silent` (never answers), `errors` (500 to three of
 * ten), `throttle` (429) or `lose` (records, and closes the connection). It counts the events of a
 * batch one by one.
 *
 * @returns `arrivals`: of each event its `email`, `when` it was recorded, and the `key` by which
 * its sender marks a repetition.
 */
export async function startService() {
  const arrivals = [];
  let mode = "up";
  let seed = 1;
  let throttledUntil = 0;

  /** From 0 to 1, and the same in each run: the generator of Park and Miller. */
  function chance() {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  }

  const server = createServer({ keepAliveTimeout: 60_000 }, async (req, res) => {
    const chunks = [];
    try {
      for await (const chunk of req) chunks.push(chunk);
    } catch {
      return;
    }
    if (mode === "silent") return;
    const answer = (status, body, headers = {}) =>
      res.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
    if (req.method === "GET") return answer(200, { hasAffiliate: true });
    if (mode === "errors" && chance() < 0.3) return answer(500, { error: "Internal" });
    if (mode === "throttle") {
      const seconds = Math.max(1, Math.ceil((throttledUntil - performance.now()) / 1_000));
      return answer(429, { error: "Too Many Requests" }, { "retry-after": `${seconds}` });
    }
    const bytes = Buffer.concat(chunks);
    const body = JSON.parse(req.headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes);
    const when = performance.now();
    for (const event of eventsOf(body, req.headers)) arrivals.push({ ...event, when });
    if (mode === "lose") return res.socket.destroy();
    answer(200, { success: true, status: "Ok", leadId: arrivals.length });
  });

  async function listen(port) {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  }
  await listen(0);
  const { port } = server.address();

  return {
    port,
    arrivals,
    /** @param forMs how long a throttled client is told to wait. */
    async be(next, forMs = 0) {
      if (next === "down") {
        server.close();
        server.closeAllConnections();
      } else if (mode === "down") await listen(port);
      throttledUntil = performance.now() + forMs;
      mode = next;
    },
  };
}

/**
 * Segment's and PostHog's batches, and the one payment of a request as the specification has it.
 */
function eventsOf(body, headers) {
  if (!body.batch) return [{ email: body.customerEmail, key: headers["idempotency-key"] }];
  return body.batch.map((event) => ({ email: event.properties.email, key: event.messageId ?? event.uuid }));
}
