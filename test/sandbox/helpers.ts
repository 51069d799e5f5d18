import { createSandbox, type Sandbox, type SandboxOptions } from "express-affiliate/sandbox";
import { onTestFinished } from "vitest";

/** A sandbox that ends with the test. */
export async function startSandbox(options?: SandboxOptions): Promise<Sandbox> {
  const sandbox = await createSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

export interface Answered {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came
  body: any;
}

/** Calls the sandbox: a POST where there is a body, else a GET. */
export async function call(
  sandbox: Sandbox,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answered> {
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
