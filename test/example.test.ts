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
      { kind: "payment", linkedClick: click?.id, leadValue: 64.5 },
    ]);
    expect(await tracker.client.status(sessionId)).toMatchObject({ affiliateReference: "ALICE" });
    expect(tracker.stats()).toMatchObject({ delivered: 3, duplicates: 1 });
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
    expect(sandbox.ledger.requests()).toEqual([]);
  });
});
