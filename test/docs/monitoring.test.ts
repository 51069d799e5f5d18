import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { context, metrics, type Span, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import type { Express } from "express";
import type { Affiliate } from "express-affiliate";
import { register } from "prom-client";
import request from "supertest";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { exportToOpenTelemetry, traceAttempts } from "../../docs/monitoring/opentelemetry.js";
import { exportToPrometheus } from "../../docs/monitoring/prometheus.js";
import { order as payment, returning } from "../helpers/conversions.js";
import { root, textOf } from "../helpers/docs/pages.js";
import { pageToRun, referred, reportAll, startRefusing, startShop } from "../helpers/docs/run.js";
import { answering, faultyService } from "../helpers/faulty-service.js";
import { pay } from "../helpers/pay.js";
import { complaintsOfPromtool, hasPromtool, promtool } from "../helpers/promtool.js";
import { scratchDirectory } from "../helpers/scratch.js";

const page = pageToRun("docs/monitoring.md");

async function startExport(app: Express, tracker: Affiliate): Promise<void> {
  onTestFinished(() => register.clear());
  exportToPrometheus(tracker);
  await page.run("Prometheus", { app });
}

/** The text of `/metrics`, after some events. */
async function scraped(): Promise<string> {
  const { app, tracker } = await startRefusing();
  await startExport(app, tracker);
  await reportAll(tracker);
  app.post("/nothing", tracker.onPayment(returning(undefined)));
  await request(app).post("/nothing");
  await expect.poll(() => tracker.stats().unreported.payment).toBe(1);
  return (await request(app).get("/metrics").expect(200)).text;
}

/** The names of metrics and of their labels in a text. */
const metricsIn = (text: string) => new Set(text.match(/\baffiliate_[a-z_]+/g));

describe("metrics", () => {
  it("go to Prometheus", async () => {
    const text = await scraped();
    const lines = text.split("\n").filter((line) => line !== "" && !/^#| 0$/.test(line));
    expect(lines.sort()).toEqual([
      'affiliate_dead_letters{reason="rejected"} 1',
      'affiliate_dropped_total{reason="invalid"} 1',
      'affiliate_events_total{kind="click",outcome="delivered"} 1',
      'affiliate_events_total{kind="click",outcome="queued"} 1',
      'affiliate_events_total{kind="payment",outcome="dead"} 1',
      'affiliate_events_total{kind="payment",outcome="delivered"} 1',
      'affiliate_events_total{kind="payment",outcome="queued"} 2',
      'affiliate_events_total{kind="registration",outcome="skipped"} 1',
      'affiliate_skipped_total{reason="no-attribution"} 1',
      'affiliate_unreported_total{kind="payment"} 1',
    ]);
    const { tracker } = await startShop();
    for (const reason of Object.keys(tracker.stats().dropped))
      expect(text).toContain(`affiliate_dropped_total{reason="${reason}"}`);
    for (const endpoint of Object.keys(tracker.stats().endpoints))
      expect(text).toContain(`affiliate_endpoint_paused_seconds{endpoint="${endpoint}"} 0`);
  });

  it("tell of an endpoint that is paused", async () => {
    const { url: baseUrl } = await faultyService({ onRequest: answering(500, {}) });
    const { app, tracker } = await startShop({ baseUrl });
    await startExport(app, tracker);
    for (let id = 0; id < 20; id++) await pay(tracker, id);
    const paused = async () => {
      const { text } = await request(app).get("/metrics");
      return Number(/affiliate_endpoint_paused_seconds\{endpoint="lead\/payment"\} (.+)/.exec(text)?.[1]);
    };
    await expect.poll(paused).toBeGreaterThan(0);
  });

  it("go to OpenTelemetry", async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    // Far apart: the test says when.
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
    const provider = new MeterProvider({ readers: [reader] });
    metrics.setGlobalMeterProvider(provider);
    onTestFinished(async () => {
      metrics.disable();
      await provider.shutdown();
    });
    const { tracker } = await startRefusing();
    exportToOpenTelemetry(tracker);
    await reportAll(tracker);
    await provider.forceFlush();

    const points = exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
      .flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) =>
          [descriptor.name, ...Object.values(attributes), value].join(" "),
        ),
      );
    expect(points.sort()).toEqual([
      "affiliate.dead_letters expired 0",
      "affiliate.dead_letters rejected 1",
      "affiliate.dead_letters unconfirmed 0",
      "affiliate.events click delivered 1",
      "affiliate.events click queued 1",
      "affiliate.events payment dead 1",
      "affiliate.events payment delivered 1",
      "affiliate.events payment dropped 1",
      "affiliate.events payment queued 2",
      "affiliate.events registration skipped 1",
      "affiliate.oldest 0",
      "affiliate.paused 0",
      "affiliate.queued 0",
    ]);
  });
});

describe.skipIf(!hasPromtool)("promtool", () => {
  const rules = join(root, "docs/monitoring/prometheus-alerts.yml");

  it("finds nothing wrong with the metrics", async () => {
    expect(promtool(["check", "metrics"], await scraped())).toBe("");
    expect(complaintsOfPromtool(["check", "metrics"], "# TYPE a counter\na 1\n")).toContain("_total");
  });

  it("finds nothing wrong with the alerts, and each fires when it should", () => {
    expect(promtool(["check", "rules", "--lint-fatal", rules])).toContain("9 rules found");
    const tests = join(scratchDirectory(), "alerts.test.yml");
    writeFileSync(tests, textOf("test/fixtures/prometheus-alerts.test.yml").replace("[RULES]", `[${rules}]`));
    expect(promtool(["test", "rules", tests])).toContain("SUCCESS");
    const { groups } = parse(textOf("docs/monitoring/prometheus-alerts.yml"));
    const fired = parse(readFileSync(tests, "utf8")).tests.flatMap(
      // biome-ignore lint/suspicious/noExplicitAny: promtool's own format.
      ({ alert_rule_test }: any) => alert_rule_test.filter((each: any) => each.exp_alerts.length > 0),
    );
    expect(new Set(fired.map((each: { alertname: string }) => each.alertname))).toEqual(
      new Set(groups[0].rules.map((rule: { alert: string }) => rule.alert)),
    );
  });

  it("reads every expression of the dashboard", () => {
    const exprs = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const rulesOf = (expressions: string[]) => {
      const named = expressions.map((expr, nth) => ({ record: `panel:${nth}`, expr }));
      const file = join(scratchDirectory(), "dashboard.yml");
      writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules: named }] }));
      return file;
    };
    const ready = exprs.map((expr) => expr.replaceAll("$__rate_interval", "5m"));
    expect(promtool(["check", "rules", rulesOf(ready)])).toContain(`${exprs.length} rules found`);
    expect(complaintsOfPromtool(["check", "rules", rulesOf(["sum(("])])).not.toBe("");
  });
});

const dashboard: { panels: { targets: { expr: string }[] }[] } = JSON.parse(
  textOf("docs/monitoring/grafana-dashboard.json"),
);
it("docs/monitoring.md names no metric in dashboard and alerts that the page does not export, and leaves none out", async () => {
  const exported = new Set(
    [...(await scraped()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string),
  );
  expect(metricsIn(JSON.stringify(dashboard.panels))).toEqual(exported);
  const alerted = metricsIn(textOf("docs/monitoring/prometheus-alerts.yml"));
  expect([...alerted].filter((name) => !exported.has(name))).toEqual([]);
});

describe("traces", () => {
  function startTracing() {
    const exporter = new InMemorySpanExporter();
    const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    provider.register();
    onTestFinished(async () => {
      trace.disable();
      context.disable();
      await provider.shutdown();
    });
    return () => exporter.getFinishedSpans().filter(({ name }) => name.startsWith("affiliate "));
  }

  /**
   * As an instrumentation of Express does: a span for the request, active until the response is
   * over.
   */
  async function shop(options: Parameters<typeof startShop>[0] = {}) {
    const requests: Span[] = [];
    const started = await startShop({
      ...options,
      before: [
        (_req, res, next) => {
          const span = trace.getTracer("express").startSpan("POST /checkout");
          requests.push(span);
          res.once("close", () => span.end());
          context.with(trace.setSpan(context.active(), span), next);
        },
      ],
    });
    const { app, tracker } = started;
    app.post(
      "/checkout",
      tracker.onPayment(async (_req, res) => {
        await new Promise(setImmediate);
        res.end();
        return payment;
      }),
    );
    traceAttempts(tracker);
    return { ...started, requests };
  }

  it("have a span for each attempt, with a link to the request's span", async () => {
    const attempts = startTracing();
    const { url: baseUrl } = await faultyService({
      onRequest: (socket, request, nth) => answering(nth === 1 ? 500 : 200)(socket, request, nth),
    });
    const { app, tracker, requests } = await shop({ baseUrl });
    await referred(app).post("/checkout").expect(200);
    await tracker.flush();

    const [failed, delivered] = attempts();
    expect(attempts()).toHaveLength(2);
    expect(failed).toMatchObject({
      name: "affiliate payment",
      attributes: { "affiliate.attempt": 1 },
      status: { code: 2, message: expect.stringContaining("500") },
    });
    expect(delivered).toMatchObject({ attributes: { "affiliate.attempt": 2 }, status: { code: 0 } });
    for (const span of attempts()) {
      expect(span.links.map((link) => link.context)).toEqual([requests[0]?.spanContext()]);
      expect(span.parentSpanContext).toBeUndefined();
      expect(span.attributes["affiliate.event.id"]).toMatch(/^[0-9a-f]{32}$/);
    }
    expect(delivered?.startTime.join(".") ?? "").not.toBe(failed?.startTime.join("."));
  });

  it("have a span with an error for a dead letter", async () => {
    const attempts = startTracing();
    const onRequest = answering(422, { message: "no such customer" });
    const { url: baseUrl } = await faultyService({ onRequest });
    const { app, tracker } = await shop({ baseUrl });
    await referred(app).post("/checkout").expect(200);
    await tracker.flush();
    expect(attempts()).toMatchObject([{ status: { code: 2, message: "rejected no such customer" } }]);
  });

  it("have no link if another process reported", async () => {
    const attempts = startTracing();
    const { tracker } = await startShop();
    await pay(tracker);
    traceAttempts(tracker);
    await tracker.flush();
    expect(attempts()).toMatchObject([{ links: [], status: { code: 0 } }]);
  });
});
