import { expect } from "vitest";
import {
  call,
  clicked,
  key,
  ledgerAfter,
  paid,
  registered,
  sendClick,
  sendPayment,
  sendRegistration,
  sendRegistrationLead,
  startSandbox,
  test,
} from "./helpers.js";

test("the sandbox records a click with every field it may carry", async ({ sandbox }) => {
  const fields = {
    clickedUrl: "https://shop.test/?ref=ALICE",
    referrerUrl: "https://blog.test/",
    userAgent: "Mozilla/5.0",
    source: "newsletter",
  };
  const { status, body } = await sendClick(sandbox, fields);
  expect(status).toBe(201);
  expect(body).toEqual({
    success: true,
    clickId: expect.any(Number),
    sessionId: "session-1",
    message: "Click recorded.",
  });
  const click = { id: body.clickId, affiliateReference: "ALICE", ...fields };
  expect(sandbox.ledger.clicks()).toMatchObject([click]);
});

test("the sandbox knows a click id that comes a second time as the same click", async ({ sandbox }) => {
  const first = await sendClick(sandbox);
  const second = await sendClick(sandbox, { affiliateReference: "MALLORY" });
  expect(second).toMatchObject({ status: 200, body: { success: true, clickId: first.body.clickId } });
  expect(sandbox.ledger.clicks()).toHaveLength(1);
});

test("the sandbox answers each endpoint in the specification's words", async ({ sandbox }) => {
  await sendClick(sandbox);
  const recorded = { success: true, leadId: expect.any(Number) };
  const message = "Registration recorded for affiliate ALICE.";
  expect(await sendRegistration(sandbox, { customerId: "42", customerName: "Bo" })).toMatchObject({
    status: 201,
    body: { ...recorded, clickId: "click-1", message },
  });
  expect(await sendRegistrationLead(sandbox, { customerName: "Bo" })).toMatchObject({
    status: 201,
    body: { ...recorded, sessionId: "session-1", message },
  });
  const { status, body } = await sendPayment(sandbox);
  expect(status).toBe(201);
  expect(body).toEqual({
    ...recorded,
    leadValue: 49.9,
    conversionSource: "TRACKING_API",
    message: "Payment recorded for affiliate ALICE.",
  });
  const lead = { customerEmail: "bo@shop.test", affiliateReference: "ALICE" };
  expect(sandbox.ledger.leads()).toMatchObject([
    { ...lead, customerId: "42", customerName: "Bo", linkedThrough: "clickId" },
    { ...lead, customerName: "Bo", linkedThrough: "sessionId" },
    { ...lead, leadValue: 49.9, linkedThrough: "sessionId" },
  ]);
});

test.each([
  [
    "of an unknown session through the customer's own registration",
    [clicked(), registered(), paid({ customerEmail: "BO@shop.test", sessionId: "another-device" })],
    { linkedThrough: "customerEmail", affiliateReference: "ALICE" },
  ],
  [
    "to the later of two affiliates",
    [clicked(), clicked({ clickId: "click-2", affiliateReference: "BOB" }), paid()],
    { linkedThrough: "sessionId", affiliateReference: "BOB" },
  ],
  [
    "of a customer who never registered to the session's click, whoever registered through it",
    [clicked(), registered(), paid({ customerEmail: "invoices@shop.test" })],
    { linkedThrough: "sessionId", affiliateReference: "ALICE" },
  ],
])("the sandbox links a payment %s", (_, steps, expected) => {
  expect(ledgerAfter(steps).payments()).toMatchObject([expected]);
});

test("the sandbox says whose a session is that came through an affiliate, or that it is nobody's", async ({
  sandbox,
}) => {
  const statusOf = async (sessionId: string) =>
    (await call(sandbox, `status/${encodeURIComponent(sessionId)}`, undefined, key(sandbox))).body;
  const { body } = await sendClick(sandbox, { sessionId: "a/ß ?" });
  expect(await statusOf("a/ß ?")).toEqual({
    sessionId: "a/ß ?",
    hasAffiliate: true,
    affiliateReference: "ALICE",
    clickId: body.clickId,
    clickedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  });
  expect(await statusOf("unheard-of")).toEqual({ sessionId: "unheard-of", hasAffiliate: false });
});

test("the sandbox answers a repeated Idempotency-Key as it did before, and records nothing anew", async ({
  sandbox,
}) => {
  const first = await sendPayment(sandbox, {}, { "idempotency-key": "order-7" });
  const again = await sendPayment(sandbox, {}, { "idempotency-key": "order-7" });
  const other = await sendPayment(sandbox, {}, { "idempotency-key": "order-8" });
  expect({ status: again.status, body: again.body }).toEqual({ status: first.status, body: first.body });
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(other.body.leadId).not.toBe(first.body.leadId);
  expect(sandbox.ledger.payments()).toHaveLength(2);
  expect(sandbox.ledger.requests({ replayed: true })).toHaveLength(1);
});

test("the sandbox does not keep a refusal for an Idempotency-Key, so that the mended request passes", async () => {
  const sandbox = await startSandbox();
  const once = { "idempotency-key": "order-7" };
  expect(await sendPayment(sandbox, { leadValue: "49.90" }, once)).toMatchObject({ status: 422 });
  expect(await sendPayment(sandbox, {}, once)).toMatchObject({ status: 201 });
});
