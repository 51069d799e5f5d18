import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { createGunzip } from "node:zlib";

/** All spans that Sentry is sent. */
const spans = [];
const collector = createServer(async (req, res) => {
  const envelope = await text(req.headers["content-encoding"] === "gzip" ? req.pipe(createGunzip()) : req);
  for (const line of envelope.split("\n").filter(Boolean)) spans.push(...(JSON.parse(line).items ?? []));
  res.end("{}");
}).listen(0, "127.0.0.1");
await once(collector, "listening");
process.env.SENTRY_DSN = `http://key@127.0.0.1:${collector.address().port}/1`;

await import("./instrument.js");
const { app, requests } = await import("./journey.js");
await import("./json-walk.js");

test("attempts are in no visitor's trace, and bring the service none of Sentry's headers", async () => {
  await app.flush();
  collector.close();
  const reports = spans.filter(({ attributes }) =>
    attributes["url.path"]?.value.startsWith("/api/v1/tracking/"),
  );
  const visits = spans.filter(({ attributes }) => attributes["url.path"]?.value === "/checkout");
  assert.ok(visits.length > 0 && reports.length > 0);
  for (const { is_segment: isAlone } of reports) assert.equal(isAlone, true);
  const traces = new Set(visits.map(({ trace_id: id }) => id));
  assert.deepEqual(
    reports.filter(({ trace_id: id }) => traces.has(id)),
    [],
  );
  for (const { headers } of requests()) assert.equal(headers["sentry-trace"] ?? headers.baggage, undefined);
});
