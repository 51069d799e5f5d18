import { expect } from "vitest";
import { call, key, sendClick, sendPayment, sendRegistration, startSandbox, test } from "./helpers.js";

test("the ledger waits for an entry, or gives one that is there already", async ({ sandbox }) => {
  const waiting = sandbox.ledger.waitFor({ kind: "payment", customerEmail: "bo@shop.test" });
  await sendPayment(sandbox, { customerEmail: "cy@shop.test" });
  await sendPayment(sandbox, { leadValue: 5 });
  expect(await waiting).toMatchObject({ kind: "payment", leadValue: 5 });
  const there = await sandbox.ledger.waitFor({ kind: "payment", affiliateReference: null });
  expect(there.customerEmail).toBe("cy@shop.test");
});

test("the ledger says what came last, not all of thousands, when the time is up", async ({ sandbox }) => {
  for (let nth = 1; nth <= 25; nth++) await sendPayment(sandbox, { leadValue: nth });
  const waiting = sandbox.ledger.waitFor({ kind: "payment", leadValue: 26 }, { timeoutMs: 10 });
  const message = await waiting.then(String, ({ message }: Error) => message);
  const [first, ...lines] = message.split("\n");
  expect(first).toBe(
    'sandbox: no payment with {"leadValue":26} came within 10 ms; the ledger has 25, the last of them:',
  );
  const last = Array.from({ length: 20 }, (_, nth) => nth + 6);
  expect(lines.map((line) => JSON.parse(line).leadValue)).toEqual(last);
});

test("the ledger ends the waiting when the sandbox closes", async ({ sandbox }) => {
  const waiting = sandbox.ledger.waitFor({ kind: "click" });
  await sandbox.close();
  await expect(waiting).rejects.toThrow(/no click with {} came before the sandbox was closed/);
});

test("the ledger keeps requests with their headers, answers and times, and masks keys and cookies", async () => {
  const sandbox = await startSandbox();
  await call(sandbox, "status/session-1?verbose", undefined, {
    ...{ ...key(sandbox), cookie: "login=secret", "proxy-authorization": "Basic c2VjcmV0" },
    ...{ "x-api-key": "secret", "x-auth-token": "secret", "x-shop": "open" },
  });
  const [request] = sandbox.ledger.requests();
  expect(request).toMatchObject({
    method: "GET",
    path: "/api/v1/tracking/status/session-1?verbose",
    headers: {
      ...{ authorization: "Bearer •••", cookie: "•••", "proxy-authorization": "Basic •••" },
      ...{ "x-api-key": "•••", "x-auth-token": "•••", "x-shop": "open" },
    },
    body: null,
    status: 200,
    response: '{"sessionId":"session-1","hasAffiliate":false}',
    ms: expect.any(Number),
    fault: "ok",
  });
  expect(JSON.stringify(request)).not.toContain(sandbox.apiKey);
});

test.for(["secret", "Bearer\tsecret", "Basic  secret x"])(
  "the ledger masks the authorization %j",
  async (authorization, { sandbox }) => {
    await sendClick(sandbox, {}, { authorization });
    expect(JSON.stringify(sandbox.ledger.requests())).not.toContain("secret");
  },
);

test("the ledger forgets everything when it is cleared", async ({ sandbox }) => {
  await sendClick(sandbox, {}, { "idempotency-key": "a" });
  await sendRegistration(sandbox);
  sandbox.ledger.clear();
  const { clicks, leads, requests } = sandbox.ledger;
  expect([clicks(), leads(), requests()]).toEqual([[], [], []]);
  expect(await sendClick(sandbox, {}, { "idempotency-key": "a" })).toMatchObject({ body: { clickId: 2 } });
});

test("/ledger.json has all that was recorded, while the service is down too", async () => {
  const sandbox = await startSandbox();
  await sendClick(sandbox);
  await sendRegistration(sandbox);
  await sendPayment(sandbox, {}, { "idempotency-key": "k1" });
  const atService = await (await fetch(`${sandbox.url}/ledger.json`)).json();
  const { ledger } = sandbox;
  expect(atService).toMatchObject({
    clicks: ledger.clicks(),
    registrations: ledger.registrations(),
    payments: ledger.payments(),
    requests: [
      { recordedClick: 1 },
      { recordedLead: 1 },
      { recordedLead: 2, idempotencyKey: "k1", status: 201 },
    ],
  });
  expect(JSON.stringify(atService)).not.toContain("headers");
  await sandbox.fail("down");
  expect(await (await fetch(`${sandbox.inspectorUrl}/ledger.json`)).json()).toEqual(atService);
});

test("/ledger.json has the last entries of each kind, as many as are asked for", async ({ sandbox }) => {
  for (const clickId of ["c1", "c2", "c3"]) await sendClick(sandbox, { clickId });
  expect(await (await fetch(`${sandbox.url}/ledger.json?limit=2`)).json()).toMatchObject({
    clicks: [{ clickId: "c2" }, { clickId: "c3" }],
    requests: [{ recordedClick: 2 }, { recordedClick: 3 }],
  });
  for (const limit of ["0", "5001", "-1", "1.5", "x", ""]) {
    const refused = await fetch(`${sandbox.url}/ledger.json?limit=${limit}`);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ status: 400 });
  }
});
