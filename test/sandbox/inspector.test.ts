import type { Sandbox } from "express-affiliate/sandbox";
import fc from "fast-check";
import { describe, expect } from "vitest";
import type { Fault } from "../../src/sandbox/faults.js";
import type { About } from "../../src/sandbox/inspector/inspector.js";
import { type InspectorState, viewIn } from "../../src/sandbox/inspector/state.js";
import { anyCharacter } from "../helpers/any-character.js";
import { call, key, sendClick, sendPayment, sendRegistration, startSandbox, test } from "./helpers.js";

/** What a page is told: nothing if it has the newest version. */
interface Told extends InspectorState {
  version: number;
  about: About;
  fault: Fault;
}

async function look(sandbox: Sandbox, query = ""): Promise<Told | undefined> {
  const answer = await fetch(`${sandbox.inspectorUrl}/state${query}`);
  return answer.status === 204 ? undefined : answer.json();
}

const stateOf = async (sandbox: Sandbox, query?: string) => (await look(sandbox, query)) as Told;

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
  const page = await (await fetch(sandbox.inspectorUrl)).text();
  const files = page.match(/(?<=(src|href)=")\w[^":]+(?=")/g);
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

test("the inspector shows each visitor's way, the totals, the requests and the fault, when they have changed", async () => {
  const sandbox = await startSandbox();
  let known = 0;
  /** What a page is told that has shown all until now. */
  const change = async () => {
    const told = await stateOf(sandbox, `?version=${known}`);
    known = told.version;
    return told;
  };
  expect(await look(sandbox)).toMatchObject({
    about: { url: sandbox.url, clientId: 1001, apiKey: sandbox.apiKey, file: null },
    fault: { mode: "ok" },
    visitors: { total: 0, shown: [] },
  });

  await sendClick(sandbox);
  await sendRegistration(sandbox);
  await sendPayment(sandbox);
  await sendPayment(sandbox, { sessionId: "x", customerEmail: "di@shop.test", leadValue: 5 });
  const busy = await change();
  expect(await look(sandbox, `?version=${known}`)).toBeUndefined();
  expect(busy.affiliates.shown).toEqual([
    { name: null, click: 0, registration: 0, payment: 1, value: 5 },
    { name: "ALICE", click: 1, registration: 1, payment: 1, value: 49.9 },
  ]);
  expect(busy.unlinked).toBe(1);
  expect(busy.visitors.shown).toMatchObject([
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
  ]);

  await sandbox.fail("503", { forMs: 60_000 });
  expect((await change()).fault).toMatchObject({
    mode: "503",
    since: expect.stringMatching(/Z$/),
    until: expect.stringMatching(/Z$/),
  });
  sandbox.ledger.clear();
  expect(await change()).toMatchObject({
    requests: { total: 0 },
    visitors: { total: 0 },
    affiliates: { total: 0 },
  });
});

describe("what is shown", () => {
  async function aFewVisitors() {
    const sandbox = await startSandbox();
    for (let each = 1; each <= 3; each += 1) {
      const clickId = `c-${each}`;
      await sendClick(sandbox, { clickId, sessionId: `s-${each}`, affiliateReference: `A${each}` });
      await sendRegistration(sandbox, { clickId, email: `v${each}@shop.test` });
    }
    await sendClick(sandbox, { clickId: "c-4", sessionId: "s-4", affiliateReference: "A1" });
    await sendPayment(sandbox, { sessionId: "none", customerEmail: "Di@shop.test" });
    await call(sandbox, "lead/payment", { nonsense: true });
    return { sandbox, shown: (query: string) => stateOf(sandbox, query) };
  }
  const names = ({ visitors }: InspectorState) => visitors.shown.map(({ name }) => name);

  test("says how many there are if it is cut, and more comes when asked for", async () => {
    const { sandbox, shown } = await aFewVisitors();
    for (let each = 5; each <= 30; each += 1)
      await sendClick(sandbox, { clickId: `c-${each}`, sessionId: `s-${each}` });
    const cut = await shown("?limit=20");
    expect(cut).toMatchObject({ unlinked: 1, visitors: { total: 31 }, requests: { total: 35 } });
    expect(names(cut).slice(0, 2)).toEqual(["Di@shop.test", "ALICE’s visitor"]);
    expect([cut.visitors.shown, cut.requests.shown].map(({ length }) => length)).toEqual([20, 20]);
    expect((await shown("?limit=120")).visitors.shown).toHaveLength(31);
    expect(cut.affiliates).toMatchObject({ total: 5, shown: [{ name: null }] });
  });

  test("is the last of what a visitor did, and what was not linked", async () => {
    const { sandbox, shown } = await aFewVisitors();
    await sendPayment(sandbox, { customerEmail: "x@shop.test", sessionId: "late" });
    await sendClick(sandbox, { clickId: "c-5", sessionId: "late" });
    for (let each = 1; each <= 5; each += 1)
      await sendPayment(sandbox, { customerEmail: "x@shop.test", sessionId: "late", leadValue: each });
    const [visitor] = (await shown("?limit=20&search=x@shop.test")).visitors.shown;
    expect(visitor?.payments.total).toBe(6);
    expect(visitor?.payments.shown.map(({ leadValue }) => leadValue)).toEqual([49.9, 3, 4, 5]);
  });

  test("can be narrowed to a visitor", async () => {
    const { shown } = await aFewVisitors();
    expect(names(await shown("?search=DI%40SHOP"))).toEqual(["Di@shop.test"]);
    expect(names(await shown("?search=s-2"))).toEqual(["v2@shop.test"]);
    expect(names(await shown("?search=A1"))).toEqual(["A1’s visitor", "v1@shop.test"]);
  });

  test("stays what it is, whatever the query says", () => {
    fc.assert(
      fc.property(fc.webQueryParameters(), fc.string({ unit: anyCharacter }), (query, text) => {
        for (const address of [query, text, `limit=${text}&search=${text}`]) {
          const { limit } = viewIn(new URLSearchParams(address));
          expect(limit).toSatisfy((count: number) => Number.isInteger(count) && count >= 20 && count <= 5000);
        }
      }),
    );
  });

  test("adds up to a number if the sum is too large for one", async ({ sandbox }) => {
    for (let each = 0; each < 2; each += 1) await sendPayment(sandbox, { leadValue: Number.MAX_VALUE });
    const { affiliates } = await stateOf(sandbox);
    expect(affiliates.shown).toMatchObject([{ value: Number.MAX_VALUE }]);
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
    for (const id of ["99", "", "x", "1e3", "9999999999999999999999"]) {
      const none = await fetch(`${sandbox.inspectorUrl}/request?id=${id}`);
      expect(none.status).toBe(404);
    }
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

describe("for the browser snippet,", () => {
  test("the click endpoint lets other origins post", async ({ sandbox }) => {
    const url = `${sandbox.url}/api/v1/tracking/click`;
    const asked = await fetch(url, { method: "OPTIONS", headers: { origin: "https://shop.test" } });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe("*");
    expect(asked.headers.get("access-control-allow-headers")).toContain("content-type");
    const { headers } = await sendClick(sandbox);
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(sandbox.ledger.requests()).toHaveLength(1);
  });

  test("the other endpoints do not", async ({ sandbox }) => {
    const { headers } = await sendPayment(sandbox);
    expect(headers.get("access-control-allow-origin")).toBeNull();
  });

  test("snippet.js is served as a script", async ({ sandbox }) => {
    const res = await fetch(`${sandbox.url}/snippet.js`);
    expect(res.headers.get("content-type")).toMatch("text/javascript");
    expect(await res.text()).toContain("svc_click_id");
  });
});
