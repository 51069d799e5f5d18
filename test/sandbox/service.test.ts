import { expect } from "vitest";
import {
  call,
  key,
  registration,
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

test("the sandbox links a registration through the click id", async ({ sandbox }) => {
  await sendClick(sandbox);
  const sent = registration({ customerId: "42", customerName: "Bo" });
  const { status, body } = await call(sandbox, "registration", sent);
  expect(status).toBe(201);
  expect(body).toEqual({
    success: true,
    leadId: expect.any(Number),
    clickId: "click-1",
    message: "Registration recorded for affiliate ALICE.",
  });
  expect(sandbox.ledger.registrations()).toMatchObject([
    { customerEmail: "bo@shop.test", customerId: "42", customerName: "Bo", linkedThrough: "clickId" },
  ]);
});

test("the sandbox links a registration through the session id", async ({ sandbox }) => {
  await sendClick(sandbox);
  const { status, body } = await sendRegistrationLead(sandbox, { customerName: "Bo" });
  expect(status).toBe(201);
  expect(body).toMatchObject({ success: true, leadId: expect.any(Number), sessionId: "session-1" });
  expect(sandbox.ledger.registrations()).toMatchObject([
    { affiliateReference: "ALICE", customerName: "Bo", linkedThrough: "sessionId" },
  ]);
});

test("the sandbox links a payment through the session id", async ({ sandbox }) => {
  await sendClick(sandbox);
  const { status, body } = await sendPayment(sandbox);
  expect(status).toBe(201);
  expect(body).toEqual({
    success: true,
    leadId: expect.any(Number),
    leadValue: 49.9,
    conversionSource: "TRACKING_API",
    message: "Payment recorded for affiliate ALICE.",
  });
  expect(sandbox.ledger.payments()).toMatchObject([{ leadValue: 49.9, linkedThrough: "sessionId" }]);
});

test("the sandbox links a payment without a session through the customer's own registration", async ({
  sandbox,
}) => {
  await sendClick(sandbox);
  await sendRegistration(sandbox, { email: "Bo@Shop.test" });
  await sendPayment(sandbox, { sessionId: undefined });
  await sendPayment(sandbox, { sessionId: "another-device" });
  const linked = { linkedThrough: "customerEmail", affiliateReference: "ALICE" } as const;
  expect(sandbox.ledger.payments(linked)).toHaveLength(2);
});

test("the sandbox credits the later of two affiliates", async ({ sandbox }) => {
  await sendClick(sandbox);
  await sendClick(sandbox, { clickId: "click-2", affiliateReference: "BOB" });
  await sendPayment(sandbox);
  expect(sandbox.ledger.payments()).toMatchObject([{ affiliateReference: "BOB" }]);
});

test("the sandbox does not link the payment of a customer who registered elsewhere to another visitor's click", async () => {
  const sandbox = await startSandbox();
  await sendRegistration(sandbox, { clickId: "unheard-of", email: "cy@shop.test" });
  await sendClick(sandbox);
  await sendRegistration(sandbox);
  await sendPayment(sandbox, { customerEmail: "cy@shop.test" });
  await sendPayment(sandbox, { customerEmail: "invoices@shop.test" });
  expect(sandbox.ledger.payments()).toMatchObject([
    { customerEmail: "cy@shop.test", notLinked: "another-visitors-click" },
    { customerEmail: "invoices@shop.test", linkedThrough: "sessionId" },
  ]);
});

test("the sandbox says whose a session is that came through an affiliate", async ({ sandbox }) => {
  const { body } = await sendClick(sandbox, { sessionId: "a/ß ?" });
  const status = await call(sandbox, `status/${encodeURIComponent("a/ß ?")}`, undefined, key(sandbox));
  expect(status.status).toBe(200);
  expect(status.body).toEqual({
    sessionId: "a/ß ?",
    hasAffiliate: true,
    affiliateReference: "ALICE",
    clickId: body.clickId,
    clickedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  });
});

test("the sandbox says that a session is nobody's that did not", async ({ sandbox }) => {
  const { status, body } = await call(sandbox, "status/unheard-of", undefined, key(sandbox));
  expect({ status, body }).toEqual({ status: 200, body: { sessionId: "unheard-of", hasAffiliate: false } });
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
