import type { Sandbox } from "express-affiliate/sandbox";
import fc from "fast-check";
import { describe, expect } from "vitest";
import type { Fault } from "../../src/sandbox/faults.js";
import { limitIn, type stateOf } from "../../src/sandbox/inspector/state.js";
import { forAny } from "../helpers/for-any.js";
import { call, key, sendClick, sendPayment, sendRegistration, startSandbox, test } from "./helpers.js";

/** What a page is told. */
interface Told extends ReturnType<typeof stateOf> {
  about: object;
  fault: Fault;
}

const look = async (sandbox: Sandbox, query = ""): Promise<Told> =>
  (await fetch(`${sandbox.inspectorUrl}/state${query}`)).json();

test("the inspector stands at / of the service, by way of an address that stays while the service is down", async () => {
  const sandbox = await startSandbox();
  const page = await fetch(sandbox.url);
  expect(page.url).toBe(`${sandbox.inspectorUrl}/`);
  expect(page.headers.get("content-type")).toMatch("text/html");
  const policy = page.headers.get("content-security-policy");
  expect(policy).toMatch("default-src 'none'; script-src 'self'");
  // The browser refuses to parse HTML that a script hands to it.
  expect(policy).toMatch("require-trusted-types-for 'script'; trusted-types 'none'");
  await sandbox.fail("down");
  expect((await fetch(sandbox.inspectorUrl)).status).toBe(200);
});

test("the inspector serves every file that the page asks for, and needs no other host", async ({
  sandbox,
}) => {
  const files = (await (await fetch(sandbox.inspectorUrl)).text()).match(/(?<=(src|href)=")\w[^":]+(?=")/g);
  expect(files).toEqual(["style.css", "main.js"]);
  for (const file of files ?? []) {
    const res = await fetch(`${sandbox.inspectorUrl}/${file}`);
    expect(res.status).toBe(200);
    const text = await res.text();
    expect(text.length).toBeGreaterThan(100);
    // The names of SVG and MathML look like addresses.
    expect(text.replaceAll("http://www.w3.org/", "")).not.toMatch(/https?:\/\/|\beval\b|\bFunction\(/);
  }
});

test("the inspector shows each visitor's way, the requests and the fault", async () => {
  const sandbox = await startSandbox();
  expect(await look(sandbox)).toMatchObject({
    about: { url: sandbox.url, clientId: 1001, apiKey: sandbox.apiKey, file: null },
    fault: { mode: "ok" },
    visitors: { total: 0, shown: [] },
  });

  await sendClick(sandbox);
  await sendRegistration(sandbox);
  await sendPayment(sandbox);
  await sendPayment(sandbox, { sessionId: "x", customerEmail: "di@shop.test", leadValue: 5 });
  await sandbox.fail("503", { forMs: 60_000 });
  const timestamp = expect.stringMatching(/Z$/);
  expect(await look(sandbox)).toMatchObject({
    fault: { mode: "503", since: timestamp, until: timestamp },
    unlinked: 1,
    requests: { total: 4 },
    visitors: {
      shown: [
        {
          name: "di@shop.test",
          clicks: { total: 0 },
          payments: { shown: [{ notLinked: "no-click-with-this-session-id", request: 4 }] },
        },
        {
          name: "bo@shop.test",
          clicks: { shown: [{ id: 1, request: 1 }] },
          registrations: { shown: [{ linkedClick: 1, request: 2, why: null }] },
          payments: { shown: [{ linkedThrough: "sessionId", request: 3, why: null }] },
        },
      ],
    },
  });
  sandbox.ledger.clear();
  expect(await look(sandbox)).toMatchObject({ requests: { total: 0 }, visitors: { total: 0 } });
});

test("the inspector answers a browser that has the state with 304, until something changes", async ({
  sandbox,
}) => {
  let tag = "none";
  const ask = () => fetch(`${sandbox.inspectorUrl}/state`, { headers: { "if-none-match": tag } });
  for (const change of [
    () => sendClick(sandbox),
    () => call(sandbox, "status/without-a-key"),
    () => sandbox.fail("slow"),
    () => sandbox.fail("slow", { delayMs: 1 }),
    () => sandbox.ledger.clear(),
  ]) {
    await change();
    const { status, headers } = await ask();
    expect(status).toBe(200);
    tag = String(headers.get("etag"));
    expect((await ask()).status).toBe(304);
  }
});

describe("what is shown", () => {
  test("is a part, broken chains first; more comes when asked for", async ({ sandbox }) => {
    await sendPayment(sandbox, { sessionId: "none", customerEmail: "Di@shop.test" });
    for (let each = 1; each <= 30; each += 1)
      await sendClick(sandbox, { clickId: `c-${each}`, sessionId: `s-${each}` });
    const { unlinked, visitors, requests } = await look(sandbox, "?limit=20");
    expect({ unlinked, totals: [visitors.total, requests.total] }).toEqual({ unlinked: 1, totals: [31, 31] });
    expect(visitors.shown.map(({ name }) => name).slice(0, 2)).toEqual(["Di@shop.test", "ALICE’s visitor"]);
    expect([visitors.shown.length, requests.shown.length]).toEqual([20, 20]);
    expect((await look(sandbox, "?limit=120")).visitors.shown).toHaveLength(31);
  });

  test("is the last of what a visitor did, and what was not linked", async ({ sandbox }) => {
    const customer = { customerEmail: "x@shop.test", sessionId: "late" };
    await sendPayment(sandbox, customer);
    await sendClick(sandbox, { clickId: "c-5", sessionId: "late" });
    for (let each = 1; each <= 5; each += 1) await sendPayment(sandbox, { ...customer, leadValue: each });
    const [visitor] = (await look(sandbox, "?limit=20")).visitors.shown;
    expect(visitor?.payments.total).toBe(6);
    expect(visitor?.payments.shown.map(({ leadValue }) => leadValue)).toEqual([49.9, 3, 4, 5]);
  });

  test("stays bounded, whatever the query says", () => {
    forAny(fc.oneof(fc.double().map(String), fc.string()), (limit) => {
      const count = limitIn(new URLSearchParams({ limit }));
      expect(count >= 20 && count <= 5000).toBe(true);
    });
  });

  test("is one request in full as a plain text, or that it is kept no more", async ({ sandbox }) => {
    await sendClick(sandbox, { source: "<script>" }, key(sandbox));
    const one = await fetch(`${sandbox.inspectorUrl}/request?id=1`);
    expect(one.headers.get("content-type")).toMatch("text/plain");
    expect(one.headers.get("x-content-type-options")).toBe("nosniff");
    expect(one.headers.get("content-security-policy")).toMatch("frame-ancestors 'none'");
    const [notes, head, body, answer] = (await one.text()).split("\n\n");
    expect(notes).toMatch(/^Request 1 of \S+, answered with 201 in \d+ ms$/);
    expect(head).toMatch(/^POST \/api\/v1\/tracking\/click\n.*^authorization: Bearer •••$/ms);
    expect(JSON.parse(body ?? "")).toMatchObject({ source: "<script>" });
    expect(JSON.parse(answer ?? "")).toMatchObject({ clickId: 1 });
    for (const id of ["99", "", "x", "1e3", "9999999999999999999999"])
      expect((await fetch(`${sandbox.inspectorUrl}/request?id=${id}`)).status).toBe(404);
  });
});

describe("its buttons", () => {
  const press = (sandbox: Sandbox, path: string, body: string, type = "application/json") =>
    fetch(`${sandbox.inspectorUrl}/${path}`, { method: "POST", body, headers: { "content-type": type } });

  test("refuse what is no fault", async ({ sandbox }) => {
    const wrong = ['{"mode":"asleep"}', '{"mode":"slow","delayMs":-1}', '{"mode":"500","forMs":1e12}', "[]"];
    for (const body of wrong) expect((await press(sandbox, "fault", body)).status).toBe(422);
    expect(sandbox.fault.mode).toBe("ok");
  });

  test("cannot be pressed by another site's form", async ({ sandbox }) => {
    await sendClick(sandbox);
    expect((await press(sandbox, "clear", "{}", "text/plain")).status).toBe(415);
    expect(sandbox.ledger.clicks()).toHaveLength(1);
    expect((await press(sandbox, "clear", "{}")).status).toBe(200);
    expect(sandbox.ledger.clicks()).toEqual([]);
  });
});

test("the click endpoint alone lets other origins post, for the browser snippet", async ({ sandbox }) => {
  const url = `${sandbox.url}/api/v1/tracking/click`;
  const asked = await fetch(url, { method: "OPTIONS", headers: { origin: "https://shop.test" } });
  expect(asked.status).toBe(204);
  expect(asked.headers.get("access-control-allow-headers")).toContain("content-type");
  for (const { headers } of [asked, await sendClick(sandbox)])
    expect(headers.get("access-control-allow-origin")).toBe("*");
  expect(sandbox.ledger.requests()).toHaveLength(1);
  const { headers } = await sendPayment(sandbox);
  expect(headers.get("access-control-allow-origin")).toBeNull();
});
