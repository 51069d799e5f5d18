import { expect } from "vitest";
import { sendClick, sendPayment, sendRegistration, startSandbox, test } from "./helpers.js";

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
  const last = await (await fetch(`${sandbox.url}/ledger.json?limit=2`)).json();
  expect(last).toMatchObject({
    clicks: [{ clickId: "c2" }, { clickId: "c3" }],
    requests: [{ recordedClick: 2 }, { recordedClick: 3 }],
  });
  for (const limit of ["0", "5001", "-1", "1.5", "x", ""]) {
    const refused = await fetch(`${sandbox.url}/ledger.json?limit=${limit}`);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ status: 400 });
  }
});
