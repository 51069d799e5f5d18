import postgres from "postgres";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

const sql = postgres(process.env.DATABASE_URL);

// #region adapter
const inPostgresJs = (tx) => ({ query: (text, values) => tx.unsafe(text, values) });
// #endregion

export async function checkout(order) {
  await sql.begin(async (tx) => {
    await tx`insert into orders ${tx(order, "id", "email", "total")}`;
    await tracker.trackPayment(paymentOf(order), order.affiliate, { transaction: inPostgresJs(tx) });
  });
}

export const close = () => sql.end();
