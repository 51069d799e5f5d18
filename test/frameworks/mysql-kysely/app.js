import { CompiledQuery, Kysely, MysqlDialect } from "kysely";
import { createPool } from "mysql2";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

const db = new Kysely({ dialect: new MysqlDialect({ pool: createPool(process.env.DATABASE_URL) }) });

// #region adapter
const inKysely = (trx) => ({
  query: (text, values = []) => trx.executeQuery(CompiledQuery.raw(text, values)),
});
// #endregion

export async function checkout({ affiliate, ...order }) {
  await db.transaction().execute(async (trx) => {
    await trx.insertInto("orders").values(order).execute();
    await tracker.trackPayment(paymentOf(order), affiliate, { transaction: inKysely(trx) });
  });
}

export const close = () => db.destroy();
