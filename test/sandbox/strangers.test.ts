import { once } from "node:events";
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { createSandbox, type Sandbox } from "express-affiliate/sandbox";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { endpoints, errorResponse } from "../../src/sandbox/endpoints.js";
import { anyCharacter, forAnyAsync, times } from "../helpers/for-any.js";
import { click, payment, registration, registrationLead } from "./helpers.js";

const json = { "content-type": "application/json" };
const anyText = fc.string({ minLength: 1, unit: anyCharacter, maxLength: 300 });
const long = "x".repeat(300);
const odd = ["", " ", "\0", "__proto__", "1e999", "<script>", long, "'; drop table clicks; --", null];
const wild = fc.oneof(fc.jsonValue(), anyText, fc.double(), fc.bigInt().map(Number), fc.constantFrom(...odd));
/** A valid request of which some fields are wild, some are missing and some are new. */
function almost(valid: object) {
  const names = fc.oneof(fc.constantFrom(...Object.keys(valid), "__proto__", "constructor"), anyText);
  const parts = fc.tuple(fc.subarray(Object.entries(valid)), fc.dictionary(names, wild));
  return parts.map(([kept, changed]) => JSON.stringify({ ...Object.fromEntries(kept), ...changed }));
}

/** Not fetch, which would not send most of this. */
async function send(url: string, options: RequestOptions, body: string | Buffer) {
  const [res] = (await once(request(url, options).end(body), "response")) as [IncomingMessage];
  return { status: res.statusCode ?? 0, body: JSON.parse(await text(res)) as unknown };
}

describe("whatever a stranger sends", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await createSandbox({ requireKeyFor: [] });
  });
  beforeEach(() => sandbox.ledger.clear());
  afterAll(() => sandbox.close());

  async function expectProperAnswer(path: string, options: RequestOptions, body: string | Buffer = "") {
    const answer = await send(sandbox.url, { ...options, path }, body);
    if (answer.status < 300)
      expect(answer.body).toHaveProperty(path.includes("status") ? "hasAffiliate" : "success");
    else expect(errorResponse.parse(answer.body).status).toBe(answer.status);
    expect(answer.status).toBeLessThan(500);
  }

  const valid = { click, registration, registrationLead, paymentLead: payment };
  test.each(Object.entries(valid))(
    "in the body of a %s, it is recorded or refused in §7's words",
    async (name, request) => {
      const { path } = endpoints[name as keyof typeof valid];
      const bodies = fc.oneof(
        almost(request()),
        fc.json(),
        fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
        fc.nat(30_000).map((depth) => "[".repeat(depth)),
      );
      const options = { method: "POST", headers: json };
      await times(150).forAnyAsync(bodies, (body) => expectProperAnswer(path, options, body));
      expect(sandbox.ledger.requests().length).toBeGreaterThan(149);
      for (const entry of [...sandbox.ledger.clicks(), ...sandbox.ledger.leads()])
        expect(entry.id).toBeGreaterThan(0);
    },
  );

  test("in its headers, path and method, it is recorded or refused in §7's words", async () => {
    const latin1 = fc.integer({ min: 0x80, max: 0xff }).map((code) => String.fromCharCode(code));
    const ascii = fc.string({ minLength: 1, maxLength: 1 });
    const header = fc.string({ minLength: 1, unit: fc.oneof(ascii, latin1) });
    const type = fc.oneof(fc.constant("application/json; charset=utf-8"), header);
    const others = { "content-encoding": header, authorization: header, "idempotency-key": header };
    const all = { "content-type": type, ...others, cookie: header };
    const headers = fc.record(all, { requiredKeys: ["content-type"] });
    const escapes = fc.array(fc.constantFrom("%", "%2", "%00", "%ff", "%2F", "..", "/", "a", "é", "?", ";"));
    const segment = fc.oneof(
      escapes.map((parts) => parts.join("")),
      fc.string().map(encodeURIComponent),
    );
    const place = fc.constantFrom("/x", "/api/v1/tracking/", "/api/v1/tracking/status/");
    const joined = fc.tuple(place, segment).map((parts) => parts.join(""));
    const path = fc.oneof(fc.constant(endpoints.click.path), joined);
    const method = fc.constantFrom("POST", "POST", "GET", "PUT", "PATCH", "DELETE");
    await times(200).forAnyAsync(path, method, headers, (to, method, sent) =>
      expectProperAnswer(to, { method, headers: sent }, method === "POST" ? JSON.stringify(click()) : ""),
    );
  });

  test("that is not HTTP, the connection ends and the next request is answered", async () => {
    const { port } = new URL(sandbox.url);
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.string().map((line) => `POST ${line} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n{`),
      fc.string().map((line) => `${line} / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffff`),
    );
    await forAnyAsync(bytes, async (sent) => {
      const socket = connect(Number(port), "127.0.0.1");
      socket.end(sent);
      await text(socket).catch(() => "reset");
      await expectProperAnswer(endpoints.status.path.replace("{sessionId}", "x"), {});
    });
  });

  test("to the inspector, it is refused in §7's words", async () => {
    const known = ["/fault", "/clear", "/state", "/", "/main.js"];
    const paths = fc.constantFrom(...known, "/nowhere", "/../../package.json");
    const bodies = fc.oneof(fc.json(), almost({ mode: "ok", forMs: 1, delayMs: 1 }), anyText);
    await forAnyAsync(paths, fc.constantFrom("POST", "PUT", "DELETE"), bodies, async (path, method, body) => {
      const answer = await send(sandbox.inspectorUrl, { path, method, headers: json }, body);
      if (answer.status !== 200) expect(errorResponse.parse(answer.body).status).toBe(answer.status);
      expect(answer.status).toBeLessThan(500);
      await sandbox.fail("ok");
    });
  });
});
