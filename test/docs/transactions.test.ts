import { expect, it } from "vitest";
import { pageToRun } from "../helpers/docs/run.js";
import { startShop } from "../helpers/docs/shop.js";
import { describeWithPostgres } from "../helpers/postgres.js";

const page = pageToRun("docs/transactions.md");

const order = { affiliate: { sessionId: "s1" } };
const payment = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };

describeWithPostgres("docs/transactions.md", (database) => {
  it("lets the transaction fail if the receipt says `rejected`, and commits if it does not", async () => {
    const outbox = await database.create({ maxEvents: 1 });
    const { tracker } = await startShop({ outbox });
    const client = await database.pool().connect();
    const report = (names: object) =>
      page.run("When the receipt says `rejected`", { tracker, order, client, ...names });
    await client.query("begin");

    await report({ payment });
    const invalid = { ...payment, leadValue: "much" };
    await expect(report({ payment: invalid })).rejects.toThrow("the payment cannot be reported: invalid");

    await expect.poll(() => tracker.stats().delivered).toBe(1);
    client.release();
  });
});
