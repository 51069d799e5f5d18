import { ArgumentError, NoAnswerError, TrackingApiError, type TrackingClient } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closedPort } from "../helpers/faulty-service.js";
import { anyCharacter, forAnyAsync } from "../helpers/for-any.js";
import { pay } from "../helpers/pay.js";
import { startService } from "../helpers/service.js";
import { API_KEY, startTracker } from "../helpers/tracker.js";

async function clientOf(...service: Parameters<typeof startService>) {
  const { url, received } = await startService(...service);
  return { client: startTracker({ baseUrl: url }).client, received };
}

const refusing = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  clientOf((_, res) => {
    res.writeHead(status, { "content-type": "application/json", ...headers });
    res.end(typeof body === "string" ? body : JSON.stringify(body));
  });

/** The message of the error if this is the service's. */
const said = (message: string) => `${message} (docs/errors.md#err_affiliate_api)`;

describe("client", () => {
  it("sends each endpoint's fields, and no others", async () => {
    const { client, received } = await clientOf();
    const stranger = { password: "hunter2" };
    const click = {
      affiliateReference: "ALICE",
      clickId: "c1",
      sessionId: "s1",
      clickedUrl: "https://shop.example/?ref=ALICE",
      referrerUrl: "https://blog.example/",
      userAgent: "Firefox",
      source: "newsletter",
    };
    const registration = { clickId: "c1", email: "a@b.example", customerId: "7", customerName: "Ada" };
    const lead = { customerEmail: "a@b.example", customerName: "Ada", sessionId: "s1" };
    const payment = { customerEmail: "a@b.example", leadValue: 19.9, sessionId: "s1" };
    const { sessionId: _, ...withoutSession } = payment;
    await client.click({ ...click, ...stranger });
    await client.registration({ ...registration, ...stranger });
    await client.registrationLead({ ...lead, ...stranger });
    await client.paymentLead({ ...payment, ...stranger });
    await client.paymentLead(withoutSession);

    const registrationLead = { clientId: 42, leadType: "REGISTRATION" };
    const paymentLead = { clientId: 42, leadType: "PAYMENT" };
    expect(received.map(({ method, path, body }) => ({ [`${method} ${path}`]: body }))).toEqual([
      { "POST /api/v1/tracking/click": { clientId: 42, ...click } },
      { "POST /api/v1/tracking/registration": registration },
      { "POST /api/v1/tracking/lead/registration": { ...registrationLead, ...lead } },
      { "POST /api/v1/tracking/lead/payment": { ...paymentLead, ...payment } },
      { "POST /api/v1/tracking/lead/payment": { ...paymentLead, ...withoutSession } },
    ]);
    for (const { headers } of received) {
      expect(headers["content-type"]).toBe("application/json");
      expect(headers.authorization).toBe(`Bearer ${API_KEY}`);
    }
  });

  it("sends no key if it has none, and keeps the path of its base URL", async () => {
    const { url, received } = await startService(() => ({ hasAffiliate: false }));
    for (const path of ["/eu/", "/eu"])
      await startTracker({ baseUrl: url + path, apiKey: undefined }).client.status("s1");
    expect(received.map(({ path }) => path)).toEqual(Array(2).fill("/eu/api/v1/tracking/status/s1"));
    expect(received[0]?.headers.authorization).toBeUndefined();
  });

  it.each([
    [
      { success: true, clickId: 7, sessionId: "s1", message: "ok" },
      { clickId: 7, sessionId: "s1", message: "ok" },
    ],
    [{ success: true, clickId: "7" }, { clickId: "7" }],
    [{ clickId: null, message: null, more: 1 }, {}],
    [[], {}],
    ["text", {}],
    [null, {}],
  ])("reads %j as an answer to a click", async (said, read) => {
    const { client } = await refusing(201, said);
    expect(await client.click({ affiliateReference: "ALICE" })).toEqual(read);
  });

  const none = { sessionId: "s1", hasAffiliate: false };
  const click = { affiliateReference: "ALICE", clickedAt: "2026-01-02T03:04:05Z" };

  it.each([
    [none, none],
    [{ ...none, affiliateReference: null, clickId: null, clickedAt: null }, none],
    ...[17, "17"].map((clickId) => Array(2).fill({ ...none, hasAffiliate: true, ...click, clickId })),
  ])("reads %j as a status", async (said, read) => {
    const { client } = await clientOf(() => said);
    expect(await client.status("s1")).toEqual(read);
  });

  it("encodes every session id into one path segment, or sends nothing", async () => {
    const { client, received } = await clientOf(() => ({ hasAffiliate: false }));
    await forAnyAsync(
      fc.oneof(fc.string({ unit: anyCharacter }), fc.constantFrom("", ".", "..", "%2e%2e", "a/../b", "?x#y")),
      async (id) => {
        received.length = 0;
        const refused = await client.status(id).then(
          () => false,
          (error) => error instanceof ArgumentError,
        );
        if (refused) {
          expect(received).toEqual([]);
        } else {
          const { pathname } = new URL(received[0]?.path ?? "", "http://service.example");
          const [, segment] = /^\/api\/v1\/tracking\/status\/([^/]+)$/.exec(pathname) ?? [];
          expect(decodeURIComponent(segment ?? "")).toBe(id);
        }
      },
    );
    for (const id of ["", ".", "..", "\ud800", 42, undefined])
      await expect(client.status(id as string)).rejects.toMatchObject({ code: "ERR_AFFILIATE_ARGUMENT" });
  });

  it.each<[string, (client: TrackingClient) => Promise<unknown>]>([
    ["no number", (client) => client.paymentLead({ customerEmail: "a@b.example", leadValue: Number.NaN })],
    ["a bigint", (client) => client.paymentLead({ customerEmail: "a@b.example", leadValue: 10n as never })],
    ["a key of two lines", (client) => client.click({ affiliateReference: "A" }, { idempotencyKey: "a\nb" })],
    ["nothing", (client) => client.click(undefined as never)],
  ])("rejects with an `ArgumentError`, and sends nothing, if it gets %s", async (_name, call) => {
    const { client, received } = await clientOf();
    const error = await call(client).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ArgumentError);
    expect(received).toEqual([]);
  });

  const UNAUTHORIZED = { error: "Unauthorized", message: "Invalid API key", status: 401 };
  const WITHOUT_WORDS = { error: "418", message: said("the service answered 418") };

  it.each<[number, unknown, object, Record<string, string>?]>([
    [401, UNAUTHORIZED, { ...UNAUTHORIZED, message: said("Invalid API key") }],
    [200, { success: false, message: "unknown program" }, { message: said("unknown program") }],
    [429, {}, { retryAfterMs: 120_000 }, { "retry-after": "120" }],
    ...["", "<html>Bad gateway</html>", "{", "[]", "null", '{"error":{},"message":7}'].map(
      (body): [number, string, object] => [418, body, WITHOUT_WORDS],
    ),
  ])("rejects, when %i comes with %j, with %j", async (status, body, expected, headers) => {
    const { client } = await refusing(status, body, headers);
    const error = await client.status("s1").catch((thrown) => thrown);
    expect(error).toBeInstanceOf(TrackingApiError);
    expect(error).toMatchObject({ code: "ERR_AFFILIATE_API", status, ...expected });
  });

  it("says whether the request had left when no answer came, and why, with the code of an error that has no message", async () => {
    const { client } = await clientOf((_, res) => void res.destroy());
    const error = await client.status("s1").catch((thrown) => thrown);
    expect(error).toBeInstanceOf(NoAnswerError);
    expect(error).toMatchObject({ code: "ERR_AFFILIATE_NO_ANSWER", requestSent: true });
    expect(error.cause).toBeInstanceOf(Error);

    const unreachable = startTracker({ baseUrl: `http://localhost:${await closedPort()}` }).client;
    const message = expect.stringMatching(/was not sent: .*ECONNREFUSED/);
    await expect(unreachable.status("s1")).rejects.toMatchObject({ requestSent: false, message });
  });

  it("holds up no event, however many calls wait for an answer", async () => {
    const { url, posted, received } = await startService(({ method }) => (method === "GET" ? undefined : {}));
    const tracker = startTracker({ baseUrl: url, delivery: { concurrency: 2, timeoutMs: 60_000 } });
    for (let n = 0; n < 3; n++) tracker.client.status("s1").catch(() => {});
    await expect.poll(() => received.length).toBe(2);
    await pay(tracker);
    await expect.poll(() => posted.length).toBe(1);
  });
});
