import { sql } from "drizzle-orm";
import { db, orders } from "./orders.js";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

// #region adapter
const inDrizzle = (tx) => ({
  query(text, values = []) {
    const parts = text.split(/\$\d/).map((part) => sql.raw(part));
    return tx.execute(
      sql.join(parts.flatMap((part, nth) => (nth ? [sql`${values[nth - 1]}`, part] : [part]))),
    );
  },
});
// #endregion

export async function checkout(order) {
  await db.transaction(async (tx) => {
    await tx.insert(orders).values(order);
    await tracker.trackPayment(paymentOf(order), order.affiliate, { transaction: inDrizzle(tx) });
  });
}
