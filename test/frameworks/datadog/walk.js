import assert from "node:assert/strict";
import { test } from "node:test";

// What it collects goes to this machine, where nothing listens.
Object.assign(process.env, {
  DD_TRACE_AGENT_URL: "http://127.0.0.1:1",
  DD_TRACE_STARTUP_LOGS: "false",
  DD_INSTRUMENTATION_TELEMETRY_ENABLED: "false",
  DD_REMOTE_CONFIGURATION_ENABLED: "false",
});

const { tracer } = await import("./instrument.js");
const { requests, tracker } = await import("./journey.js");
const traces = { queued: new Set(), attempt: new Set() };
for (const [name, seen] of Object.entries(traces))
  tracker.on(name, () => seen.add(tracer.scope().active()?.context().toTraceId()));
await import("./json-walk.js");

test("attempts are in no visitor's trace, and bring the service none of Datadog's headers", () => {
  assert.ok(traces.queued.size > 1 && !traces.queued.has(undefined));
  assert.deepEqual([...traces.attempt], [undefined]);
  for (const { headers } of requests())
    assert.equal(headers["x-datadog-trace-id"] ?? headers.traceparent, undefined);
});
