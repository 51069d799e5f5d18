import express from "express";
import { describe, expect, it } from "vitest";
import { textOf } from "../helpers/docs/pages.js";
import { pageToRun } from "../helpers/docs/run.js";
import { referred, startShop } from "../helpers/docs/shop.js";

const page = pageToRun("docs/money.md");

describe("docs/money.md", () => {
  it("says what becomes of each kind of amount", async () => {
    const { tracker, sandbox } = await startShop();
    const payment = { customerEmail: "ada@shop.example" };
    const rows = [...textOf("docs/money.md").matchAll(/^\| .+? \| (`.+?)(?:, as .+?)? \| (.+?) \|$/gm)];
    const outcomes: string[] = [];
    for (const [, examples = "", becomes = ""] of rows) {
      for (const [, example = ""] of examples.matchAll(/`(.+?)`/g)) {
        const leadValue = new Function(`return ${example}`)();
        const receipt = await tracker.trackPayment({ ...payment, paymentId: example, leadValue });
        const [, outcome = "queued"] = /outcome: "(\w+)"/.exec(becomes) ?? [];
        expect(receipt, example).toMatchObject({ outcome });
        outcomes.push(outcome);
      }
    }
    expect([...new Set(outcomes)]).toEqual(["queued", "skipped", "rejected"]);
    await tracker.flush();
    expect(sandbox.ledger.payments().map(({ leadValue }) => leadValue)).toEqual([19.9, 19.9, 20]);
    expect(tracker.stats().skipped.zero).toBe(2);
  });

  it.each([
    [1990, "EUR", 19.9],
    [500, "JPY", 500],
    [1990, "KWD", 1.99],
  ])("makes of %d %s %d", async (amount, currency, major) => {
    const { majorUnits } = await page.run("Minor units");
    expect(majorUnits(amount, currency)).toBe(major);
  });

  it("reports in the programme's currency", async () => {
    const { app, tracker, sandbox } = await startShop({ before: [express.json()] });
    const order = { id: "o1", email: "ada@shop.example", total: 100, currency: "CZK" };
    const orders = { complete: async () => order };
    const rates = { convert: async (amount: number) => amount / 25 };
    await page.run("Which currency", { app, tracker, orders, rates });
    await referred(app).post("/checkout/complete").send({ id: "o1" }).expect(200);
    await sandbox.ledger.waitFor({ kind: "payment", leadValue: 4 });
  });

  it("has no block that is not run", () => {
    expect(page.notRun).toEqual([]);
  });
});
