// Copy this file. It exports a tracker's numbers through prom-client's default registry. Each counter exists from the start with 0, so
// that the first loss raises an alert.
import { Counter, Gauge } from "prom-client";

export function exportToPrometheus(tracker) {
  /** `read` gives the labels and the value of each series. */
  function metric(Metric, name, help, labelNames, read) {
    new Metric({
      name: `affiliate_${name}`,
      help,
      labelNames,
      collect() {
        this.reset();
        for (const [labels, value] of read(tracker.stats())) this.inc(labels, value);
      },
    });
  }

  const one = (read) => (stats) => [[{}, read(stats)]];
  const by = (label) => (read) => (stats) =>
    Object.entries(read(stats)).map(([name, value]) => [{ [label]: name }, value]);
  const [byReason, byKind] = [by("reason"), by("kind")];
  const pausedSeconds = ({ endpoints }) =>
    Object.keys(endpoints).map((endpoint) => [{ endpoint }, (endpoints[endpoint].pausedMs ?? 0) / 1_000]);

  metric(
    Gauge,
    "queued",
    "Events that wait or are under way",
    [],
    one(({ queued }) => queued),
  );
  metric(
    Gauge,
    "in_flight",
    "Attempts under way",
    [],
    one(({ inFlight }) => inFlight),
  );
  metric(
    Gauge,
    "oldest_seconds",
    "Age of the oldest queued event",
    [],
    one(({ oldestMs }) => (oldestMs ?? 0) / 1_000),
  );
  metric(Gauge, "endpoint_paused_seconds", "For how long an endpoint is paused", ["endpoint"], pausedSeconds);
  metric(
    Gauge,
    "dead_letters",
    "Events that were given up",
    ["reason"],
    byReason(({ dead }) => dead),
  );
  metric(
    Gauge,
    "storage_trouble",
    "1 while the outbox's storage fails",
    [],
    one(({ trouble }) => (trouble ? 1 : 0)),
  );
  metric(
    Counter,
    "retried_total",
    "Attempts that failed",
    [],
    one(({ retried }) => retried),
  );
  metric(
    Counter,
    "duplicates_total",
    "Reports of what was known",
    [],
    one(({ duplicates }) => duplicates),
  );
  metric(
    Counter,
    "unreported_total",
    "Answered, and not reported",
    ["kind"],
    byKind(({ unreported }) => unreported),
  );
  metric(
    Counter,
    "skipped_total",
    "What is not reported",
    ["reason"],
    byReason(({ skipped }) => skipped),
  );
  metric(
    Counter,
    "dropped_total",
    "What is lost",
    ["reason"],
    byReason(({ dropped }) => dropped),
  );

  const events = new Counter({
    name: "affiliate_events_total",
    help: "Events",
    labelNames: ["kind", "outcome"],
  });
  const count = (outcome) => {
    for (const kind of ["click", "registration", "payment"]) events.inc({ kind, outcome }, 0);
    return ({ kind }) => events.inc({ kind, outcome });
  };
  tracker.on("queued", count("queued"));
  tracker.on("delivered", count("delivered"));
  tracker.on("dead", count("dead"));
  tracker.on("skipped", count("skipped"));
}
