import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { serve } from "../example-app/serve.js";
import { walk } from "../example-app/walk.js";

describe("the example shop", () => {
  it("turns a visit, a sign-up and a payment into one chain", async () => {
    const { sandbox, tracker, shopUrl, close } = await serve();
    onTestFinished(close);
    const { sessionId } = await walk(shopUrl, {
      reference: "ALICE",
      name: "Grace",
      email: "grace@customers.example",
    });
    await tracker.flush();
    const [click] = sandbox.ledger.clicks();
    expect(sandbox.ledger.leads()).toMatchObject([
      { kind: "registration", linkedClick: click?.id },
      { kind: "payment", linkedClick: click?.id, leadValue: 24 },
      { kind: "payment", linkedClick: click?.id, leadValue: 24 },
    ]);
    expect(await tracker.client.status(sessionId)).toMatchObject({ affiliateReference: "ALICE" });
    expect(tracker.stats()).toMatchObject({ delivered: 4, duplicates: 2 });
  });

  it("keeps what it could not deliver for its next start", async () => {
    const data = await mkdtemp(join(tmpdir(), "example-shop-"));
    onTestFinished(() => rm(data, { recursive: true }));
    const today = await serve({ data });
    await today.sandbox.fail("down");
    await walk(today.shopUrl, { reference: "ALICE", name: "Grace", email: "grace@customers.example" });
    await today.close();
    const tomorrow = await serve({ data });
    onTestFinished(tomorrow.close);
    await expect.poll(() => tomorrow.tracker.stats().queued).toBe(0);
    expect(tomorrow.sandbox.ledger.leads()).toMatchObject([
      { kind: "registration", affiliateReference: "ALICE" },
      { kind: "payment", affiliateReference: "ALICE" },
      { kind: "payment", affiliateReference: "ALICE" },
    ]);
  });

  it("answers what a stranger posts without failing", async () => {
    const { shopUrl, sandbox, close } = await serve();
    onTestFinished(close);
    const post = (path: string, body: string) =>
      fetch(shopUrl + path, {
        method: "POST",
        body,
        headers: { "content-type": "application/x-www-form-urlencoded" },
      });
    expect((await post("/signup", "email=nobody")).status).toBe(400);
    expect((await post("/checkout", "product=lamp")).status).toBe(400);
    expect((await post("/checkout/complete", "order=%00")).status).toBe(404);
    expect((await post("/next-month", "order=1")).status).toBe(404);
    expect((await post("/webhooks/gateway", "{}")).status).toBe(400);
    expect(sandbox.ledger.requests()).toEqual([]);
  });
});
