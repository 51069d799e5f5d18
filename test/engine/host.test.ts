import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import tls from "node:tls";
import { afterAll, describe, expect, it, test } from "vitest";
import { inlineForEsbuild } from "../../inline-plugin.js";
import { until } from "../contract/recorder.js";
import { certificates } from "../helpers/certificates.js";
import { faultyService } from "../helpers/faulty-service.js";
import { fixture } from "../helpers/fixture.js";
import { beyond, startProxy } from "../helpers/proxy.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startService } from "../helpers/service.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite");
const startHost = fixture("engine", [inlineForEsbuild]);

function eventsIn(directory: string): number {
  const db = new DatabaseSync(join(directory, "outbox.db"), { readOnly: true });
  try {
    return db.prepare("select count(*) as number from events").get().number;
  } finally {
    db.close();
  }
}

test("while a host's event loop stands still, what it has queued is delivered, and nothing is in doubt", async () => {
  const directory = scratchDirectory();
  const goOn = join(scratchDirectory(), "go-on");
  const service = await startService();
  const host = startHost([{ baseUrl: service.url, directory, payments: 24, until: goOn }]);
  expect(await host.next()).toEqual(Array(24).fill("queued"));

  await until(() => service.posted.length === 24, "not all was sent");
  await until(() => eventsIn(directory) === 0, "what was answered was not stored");
  writeFileSync(goOn, "");

  const { stats } = await host.next();
  expect(stats).toMatchObject({ delivered: 24, queued: 0, inFlight: 0, dead: { unconfirmed: 0 } });
  expect(new Set(service.posted.map(({ headers }) => headers["idempotency-key"])).size).toBe(24);
  expect(await host.over).toMatchObject({ code: 0, stderr: "" });
});

describe("the outbox's thread connects as the host does", () => {
  const made = certificates();
  afterAll(made.remove);

  /** What a host has of its payment, once that is delivered or its endpoint is paused. */
  async function report(baseUrl: string, options: object = {}, env: Record<string, string> = {}) {
    const host = startHost([{ baseUrl, directory: scratchDirectory(), ...options }], env);
    expect(await host.next()).toEqual(["queued"]);
    return host.next();
  }

  it("knows the authorities of NODE_EXTRA_CA_CERTS", async () => {
    const service = await faultyService({ tls: made.valid });
    const { stats } = await report(service.url, {}, { NODE_EXTRA_CA_CERTS: made.authorityFile });
    expect(stats).toMatchObject({ delivered: 1, state: "open" });
    expect(service.requests).toHaveLength(1);
  });

  it.runIf("setDefaultCACertificates" in tls)(
    "knows the system's authorities if a flag says so",
    async () => {
      const service = await faultyService({ tls: made.valid });
      const env = { NODE_OPTIONS: "--use-system-ca", SSL_CERT_FILE: made.authorityFile };
      const { stats } = await report(service.url, {}, env);
      expect(stats).toMatchObject({ delivered: 1, state: "open" });
    },
  );

  it("trusts no other authority", async () => {
    const service = await faultyService({ tls: made.valid });
    const { stats, lines } = await report(service.url);
    expect(stats).toMatchObject({ delivered: 0, state: "paused" });
    expect(lines.join("\n")).toContain("NODE_EXTRA_CA_CERTS");
    expect(service.requests).toEqual([]);
  });

  it("speaks no version of TLS that a flag of the host's rules out", async () => {
    const service = await faultyService({ tls: { ...made.valid, minVersion: "TLSv1.3" } });
    const env = { NODE_EXTRA_CA_CERTS: made.authorityFile, NODE_OPTIONS: "--tls-max-v1.2" };
    const { stats, lines } = await report(service.url, {}, env);
    expect(stats).toMatchObject({ delivered: 0, state: "paused" });
    expect(lines.join("\n")).toContain("no TLS in common");
  });

  it("goes through the environment's proxy, also if that is set after the outbox was made", async () => {
    const service = await startService();
    const { address, asked } = await startProxy();
    const environment = { http_proxy: address };
    const { stats } = await report(beyond(service.url), {
      proxy: "environment",
      environment,
      allowInsecure: true,
    });
    expect(stats).toMatchObject({ delivered: 1 });
    expect(asked).toMatchObject([{ method: "CONNECT", url: new URL(beyond(service.url)).host }]);
  });

  it("goes through a proxy with a password, which is not shown", async () => {
    const service = await startService();
    const { address, asked } = await startProxy();
    const proxy = address.replace("http://", "http://bob:pa55word@");
    const { stats, lines } = await report(beyond(service.url), { proxy, allowInsecure: true });
    expect(stats).toMatchObject({ delivered: 1 });
    expect(asked[0]?.headers["proxy-authorization"]).toBe(`Basic ${btoa("bob:pa55word")}`);
    expect(JSON.stringify(lines)).not.toContain("pa55word");
  });
});
