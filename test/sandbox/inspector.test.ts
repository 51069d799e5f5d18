import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { decisions } from "../../src/sandbox/decisions.js";
import type { Sandbox } from "../../src/sandbox/index.js";
import type { InspectorState } from "../../src/sandbox/inspector.js";
import { call, click, payment, registration, startSandbox } from "./helpers.js";

/** Watches as a page does: each next state, until one is as asked. */
async function watch(sandbox: Sandbox) {
  const req = request(`${sandbox.inspectorUrl}/events`).end();
  onTestFinished(() => void req.destroy());
  const [res] = (await once(req, "response")) as [IncomingMessage];
  const lines = createInterface(res)[Symbol.asyncIterator]();
  return async function until(wanted: (state: InspectorState) => boolean): Promise<InspectorState> {
    for (;;) {
      const { value } = await lines.next();
      const state: InspectorState | undefined = value.startsWith("data: ")
        ? JSON.parse(value.slice(6))
        : undefined;
      if (state && wanted(state)) return state;
    }
  };
}

test("stands at / of the service, by way of an address that stays while the service is down", async () => {
  const sandbox = await startSandbox();
  const page = await fetch(sandbox.url);
  expect(page.url).toBe(`${sandbox.inspectorUrl}/`);
  expect(page.headers.get("content-type")).toMatch("text/html");
  expect(page.headers.get("content-security-policy")).toMatch("default-src 'none'; script-src 'self'");
  await sandbox.fail("down");
  expect((await fetch(sandbox.inspectorUrl)).status).toBe(200);
});

test("serves every file that the page asks for, and needs no other host", async () => {
  const sandbox = await startSandbox();
  const page = await (await fetch(sandbox.inspectorUrl)).text();
  const scripts = page.match(/(?<=src=")[^"]+/g) ?? [];
  const main = await (await fetch(`${sandbox.inspectorUrl}/main.js`)).text();
  const modules = main.match(/(?<=from "\.\/)[^"]+/g) ?? [];
  for (const file of [...scripts, "style.css", ...modules]) {
    const res = await fetch(`${sandbox.inspectorUrl}/${file}`);
    expect(res.status).toBe(200);
    const text = await res.text();
    expect(text.length).toBeGreaterThan(100);
    expect(text).not.toMatch(/https?:\/\/|innerHTML|outerHTML|insertAdjacentHTML|document\.write/);
  }
});

test("is in the built package as it is in the source", async () => {
  const built: typeof import("../../src/sandbox/index.js") = await import(
    join(inject("builtPackage"), "dist/sandbox.js")
  );
  const sandbox = await built.createSandbox();
  onTestFinished(() => sandbox.close());
  const folder = join(import.meta.dirname, "../../src/sandbox/browser/inspector");
  for (const file of await readdir(folder)) {
    const res = await fetch(`${sandbox.inspectorUrl}/${file === "page.html" ? "" : file}`);
    expect(await res.text()).toBe(await readFile(join(folder, file), "utf8"));
  }
});

test("tells open pages of each visitor's way, the totals, the requests and the fault, as they change", async () => {
  const sandbox = await startSandbox();
  const until = await watch(sandbox);
  const first = await until(() => true);
  expect(first).toMatchObject({
    about: { url: sandbox.url, clientId: 1001, apiKey: sandbox.apiKey, file: null },
    fault: { mode: "ok" },
    visitors: [],
    decisions,
  });

  await call(sandbox, "click", click());
  await call(sandbox, "registration", registration());
  await call(sandbox, "lead/payment", payment());
  await call(
    sandbox,
    "lead/payment",
    payment({ sessionId: "x", customerEmail: "di@shop.test", leadValue: 5 }),
  );
  const busy = await until(({ requests }) => requests.length === 4);
  expect(busy.affiliates).toEqual([
    { affiliateReference: "ALICE", clicks: 1, registrations: 1, payments: 1, value: 49.9 },
    { affiliateReference: null, clicks: 0, registrations: 0, payments: 1, value: 5 },
  ]);
  expect(busy.visitors).toMatchObject([
    { clicks: [], payments: [{ notLinked: "no-click-with-this-session-id" }] },
    { clicks: [{ id: 1 }], registrations: [{ linkedClick: 1 }], payments: [{ linkedThrough: "sessionId" }] },
  ]);

  await sandbox.fail("503", { forMs: 60_000 });
  expect((await until(({ fault }) => fault.mode === "503")).fault.until).toMatch(/Z$/);
  sandbox.ledger.clear();
  expect(await until(({ requests }) => requests.length === 0)).toMatchObject({
    visitors: [],
    affiliates: [],
  });
});

describe("its buttons", () => {
  const press = (sandbox: Sandbox, path: string, body: string, type = "application/json") =>
    fetch(`${sandbox.inspectorUrl}/${path}`, { method: "POST", body, headers: { "content-type": type } });

  test("set a fault and heal it", async () => {
    const sandbox = await startSandbox();
    const down = await press(sandbox, "fault", '{"mode":"slow","forMs":60000,"delayMs":5}');
    expect(await down.json()).toMatchObject({ mode: "slow", delayMs: 5 });
    expect(sandbox.fault.mode).toBe("slow");
    await press(sandbox, "fault", '{"mode":"ok"}');
    expect(sandbox.fault.mode).toBe("ok");
  });

  test("refuse what is no fault", async () => {
    const sandbox = await startSandbox();
    for (const body of ['{"mode":"asleep"}', '{"mode":"slow","delayMs":-1}', "[]"]) {
      expect((await press(sandbox, "fault", body)).status).toBe(422);
    }
    expect(sandbox.fault.mode).toBe("ok");
  });

  test("cannot be pressed by another site's form", async () => {
    const sandbox = await startSandbox();
    await call(sandbox, "click", click());
    expect((await press(sandbox, "clear", "{}", "text/plain")).status).toBe(415);
    expect(sandbox.ledger.clicks()).toHaveLength(1);
    expect((await press(sandbox, "clear", "{}")).status).toBe(200);
    expect(sandbox.ledger.clicks()).toEqual([]);
  });
});

describe("for the browser snippet,", () => {
  test("the click endpoint lets other origins post", async () => {
    const sandbox = await startSandbox();
    const url = `${sandbox.url}/api/v1/tracking/click`;
    const asked = await fetch(url, { method: "OPTIONS", headers: { origin: "https://shop.test" } });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe("*");
    expect(asked.headers.get("access-control-allow-headers")).toContain("content-type");
    const { headers } = await call(sandbox, "click", click());
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(sandbox.ledger.requests()).toHaveLength(1);
  });

  test("the other endpoints do not", async () => {
    const sandbox = await startSandbox();
    const { headers } = await call(sandbox, "lead/payment", payment());
    expect(headers.get("access-control-allow-origin")).toBeNull();
  });

  test("snippet.js is served as a script", async () => {
    const sandbox = await startSandbox();
    const res = await fetch(`${sandbox.url}/snippet.js`);
    expect(res.headers.get("content-type")).toMatch("text/javascript");
    expect(await res.text()).toContain("svc_click_id");
  });
});

test("drops a page that does not read", async () => {
  const sandbox = await startSandbox();
  const big = (nth: number) =>
    click({ clickId: `c${nth}`, sessionId: `s${nth}`, userAgent: "x".repeat(60_000) });
  for (let nth = 0; nth < 60; nth++) await call(sandbox, "click", big(nth));
  const { port, host } = new URL(sandbox.inspectorUrl);
  const idle = connect(Number(port), "127.0.0.1").on("error", () => {});
  onTestFinished(() => void idle.destroy());
  idle.write(`GET /events HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await once(idle, "readable");

  const until = await watch(sandbox);
  for (let nth = 60; nth < 70; nth++) {
    await call(sandbox, "click", big(nth));
    await until(({ affiliates }) => affiliates[0]?.clicks === nth + 1);
  }
  // More than all that lies between could hold was sent meanwhile: one that was kept would wait for more.
  const closed = new Promise((resolve) => idle.once("close", resolve));
  idle.resume();
  await closed;
});
