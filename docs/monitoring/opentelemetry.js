// Copy this file. It exports a tracker's numbers and attempts through the providers that your application has set.
import { context, metrics, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";

export function exportToOpenTelemetry(tracker) {
  const meter = metrics.getMeter("express-affiliate");

  const gauge = (name, unit, read) =>
    meter
      .createObservableGauge(name, { unit })
      .addCallback((result) => result.observe(read(tracker.stats())));

  gauge("affiliate.queued", "{event}", ({ queued }) => queued);
  gauge("affiliate.oldest", "s", ({ oldestMs }) => (oldestMs ?? 0) / 1_000);
  gauge("affiliate.paused", "1", ({ state }) => (state === "paused" ? 1 : 0));

  meter.createObservableGauge("affiliate.dead_letters", { unit: "{event}" }).addCallback((result) => {
    for (const [reason, count] of Object.entries(tracker.stats().dead)) result.observe(count, { reason });
  });

  const events = meter.createCounter("affiliate.events", { unit: "{event}" });
  const count =
    (outcome) =>
    ({ kind }) =>
      events.add(1, { kind, outcome });
  tracker.on("queued", count("queued"));
  tracker.on("delivered", count("delivered"));
  tracker.on("dead", count("dead"));
  tracker.on("dropped", count("dropped"));
  tracker.on("skipped", count("skipped"));
}

/** Each attempt is a span with a link to the span of the request that reported. */
export function traceAttempts(tracker) {
  const tracer = trace.getTracer("express-affiliate");
  const known = new Map(); // by the event's id: the request and the attempt

  function keep(id, facts) {
    known.set(id, facts);
    if (known.size > 10_000) known.delete(known.keys().next().value); // perhaps another process delivered it
  }

  function end(id, failure = "") {
    const { request, span } = known.get(id) ?? {};
    if (failure) span?.setStatus({ code: SpanStatusCode.ERROR, message: failure });
    span?.end();
    return request;
  }

  tracker.on("queued", ({ id }) => keep(id, { request: trace.getSpanContext(context.active()) }));
  tracker.on("attempt", ({ id, kind, attempts, startedAt }) => {
    const request = end(id);
    const span = tracer.startSpan(`affiliate ${kind}`, {
      kind: SpanKind.CLIENT,
      startTime: startedAt,
      links: request ? [{ context: request }] : [],
      attributes: { "affiliate.event.id": id, "affiliate.attempt": attempts },
    });
    keep(id, { request, span });
  });
  tracker.on("retry", ({ id, because }) => keep(id, { request: end(id, because) }));
  tracker.on("delivered", ({ id }) => {
    end(id);
    known.delete(id);
  });
  tracker.on("dead", ({ id, reason, message }) => {
    end(id, `${reason} ${message ?? ""}`.trim());
    known.delete(id);
  });
}
