import { request as httpRequest } from "node:http";
import { describe, expect } from "vitest";
import { call, click, key, payment, sendClick, sendPayment, startSandbox, test } from "./helpers.js";

const json: Record<string, string> = { "content-type": "application/json" };

describe("the API key", () => {
  test("is required for the status, and for nothing else by default", async ({ sandbox }) => {
    for (const authorization of ["", "Bearer wrong", `Basic ${sandbox.apiKey}`]) {
      const { status, body } = await call(sandbox, "status/session-1", undefined, { authorization });
      expect(status).toBe(401);
      expect(body).toEqual({ error: "Unauthorized", message: "Invalid or missing API key.", status: 401 });
    }
    expect(await sendClick(sandbox)).toMatchObject({ status: 201 });
  });

  test("is required if the options say so", async () => {
    const sandbox = await startSandbox({ apiKey: "other", requireKeyFor: ["paymentLead"] });
    expect(await sendPayment(sandbox)).toMatchObject({ status: 401 });
    expect(await sendPayment(sandbox, {}, key(sandbox))).toMatchObject({ status: 201 });
    expect(await call(sandbox, "status/session-1")).toMatchObject({ status: 200 });
    expect(sandbox.ledger.payments()).toHaveLength(1);
  });
});

describe("§7's error body answers", () => {
  const post = (body: BodyInit, headers = json): RequestInit => ({ method: "POST", headers, body });
  const posted = (body: object) => post(JSON.stringify(body));

  test.each<[string, number, string, RequestInit]>([
    ["malformed JSON", 400, "click", post("{")],
    ["an empty body", 400, "click", post("")],
    ["a body that is not UTF-8", 400, "click", post(Buffer.from([0x22, 0xff, 0x22]))],
    ["JSON that is no object", 422, "click", posted([])],
    ["a wrong type", 422, "lead/payment", posted(payment({ leadValue: "1" }))],
    ["a wrong leadType", 422, "lead/payment", posted(payment({ leadType: "X" }))],
    ["an unknown field", 422, "click", posted(click({ clickid: "x" }))],
    ["another program owner", 422, "click", posted(click({ clientId: 7 }))],
    ["an unknown content type", 415, "click", post("{}", { "content-type": "text/plain" })],
    ["a compressed body", 415, "click", post("{}", { ...json, "content-encoding": "gzip" })],
    ["a body over 64 KiB", 413, "click", posted(click({ source: "x".repeat(64 * 1024) }))],
    ["a wrong method", 405, "click", { ...post("{}"), method: "PUT" }],
    ["a GET of a POST", 405, "lead/payment", {}],
    ["a path that is none", 404, "refund", post("{}")],
    ["a broken escape", 400, "status/%E0%A4%A", {}],
  ])("%s with %i", async (_, status, path, init) => {
    const sandbox = await startSandbox({ requireKeyFor: [] });
    const res = await fetch(`${sandbox.url}/api/v1/tracking/${path}`, init);
    expect(res.status).toBe(status);
    expect(res.headers.get("content-type")).toMatch("application/json");
    expect(res.headers.get("allow")).toBe(status === 405 ? "POST" : null);
    expect(await res.json()).toEqual({ error: expect.any(String), message: expect.any(String), status });
    expect(sandbox.ledger.leads().length + sandbox.ledger.clicks().length).toBe(0);
    expect(await sendClick(sandbox)).toMatchObject({ status: 201 });
  });

  test("headers that are too long", async ({ sandbox }) => {
    const res = await fetch(sandbox.url, { headers: { "x-long": "x".repeat(20_000) } });
    expect(res.status).toBe(431);
    expect(await res.json()).toMatchObject({ status: 431 });
  });
});

test("the sandbox survives a visitor who hangs up in the middle of a body", async ({ sandbox }) => {
  const req = httpRequest(`${sandbox.url}/api/v1/tracking/click`, { method: "POST", headers: json });
  await new Promise((resolve) => req.on("error", resolve).write("{", () => req.destroy(new Error("gone"))));
  expect(await sendClick(sandbox)).toMatchObject({ status: 201 });
});
