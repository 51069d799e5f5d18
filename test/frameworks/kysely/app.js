import { CompiledQuery, Kysely, MysqlDialect, PostgresDialect } from "kysely";
import { pool, tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

const isPostgres = process.env.DATABASE_URL.startsWith("postgres");
const dialect = isPostgres ? new PostgresDialect({ pool }) : new MysqlDialect({ pool: pool.pool });
const db = new Kysely({ dialect });

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
