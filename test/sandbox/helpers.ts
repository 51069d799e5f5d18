import { createSandbox, type Sandbox, type SandboxOptions } from "express-affiliate/sandbox";
import { onTestFinished, test as plainTest, vi } from "vitest";
import { type LedgerStore, openLedger } from "../../src/sandbox/ledger/ledger.js";
import { createService, type Service } from "../../src/sandbox/service.js";

/** A sandbox that ends with the test. */
export async function startSandbox(options?: SandboxOptions): Promise<Sandbox> {
  const sandbox = await createSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** Gives each test that asks for it a `sandbox` of its own. */
export const test = plainTest.extend("sandbox", () => startSandbox());

/** Calls the sandbox: a POST if there is a body, else a GET. */
export async function call(
  sandbox: Sandbox,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
) {
  const res = await fetch(`${sandbox.url}/api/v1/tracking/${path}`, {
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
  });
  return { status: res.status, headers: res.headers, body: await res.json() };
}

export const click = (fields: object = {}) => ({
  clientId: 1001,
  affiliateReference: "ALICE",
  clickId: "click-1",
  sessionId: "session-1",
  ...fields,
});

export const registration = (fields: object = {}) => ({
  clickId: "click-1",
  email: "bo@shop.test",
  ...fields,
});

export const registrationLead = (fields: object = {}) => ({
  clientId: 1001,
  leadType: "REGISTRATION",
  customerEmail: "bo@shop.test",
  sessionId: "session-1",
  ...fields,
});

export const payment = (fields: object = {}) => ({
  clientId: 1001,
  leadType: "PAYMENT",
  customerEmail: "bo@shop.test",
  leadValue: 49.9,
  sessionId: "session-1",
  ...fields,
});

export const key = (sandbox: Sandbox) => ({ authorization: `Bearer ${sandbox.apiKey}` });

const senderOf =
  (path: string, body: (fields?: object) => object) =>
  (sandbox: Sandbox, fields?: object, headers?: Record<string, string>) =>
    call(sandbox, path, body(fields), headers);

export const sendClick = senderOf("click", click);
export const sendRegistration = senderOf("registration", registration);
export const sendRegistrationLead = senderOf("lead/registration", registrationLead);
export const sendPayment = senderOf("lead/payment", payment);

type Step = (service: Service) => void;
const stepOf =
  (endpoint: keyof Service, body: (fields?: object) => object) =>
  (fields?: object): Step =>
  (service) =>
    service[endpoint](JSON.parse(JSON.stringify(body(fields))) as never);

export const clicked = stepOf("click", click);
export const registered = stepOf("registration", registration);
export const registeredBySession = stepOf("registrationLead", registrationLead);
export const paid = stepOf("paymentLead", payment);

/** A ledger in memory after these requests, if `apartMs` lie between one and the next. */
export function ledgerAfter(steps: readonly Step[], apartMs = 1000): LedgerStore {
  vi.useFakeTimers({ toFake: ["Date"] });
  const ledger = openLedger();
  onTestFinished(() => {
    ledger.close();
    vi.useRealTimers();
  });
  for (const step of steps) {
    vi.setSystemTime(Date.now() + apartMs);
    step(createService(ledger, 1001));
    ledger.save();
  }
  return ledger;
}
