import createKnex from "knex";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

const connection = process.env.DATABASE_URL;
const client = connection.startsWith("postgres") ? "pg" : "mysql2";
const knex = createKnex({ client, connection });

// #region adapter
const inKnex = (trx) => ({
  query: (text, values = []) => trx.raw(text.replaceAll(/\$\d/g, "?"), values),
});
// #endregion

export async function checkout({ affiliate, ...order }) {
  await knex.transaction(async (trx) => {
    await trx("orders").insert(order);
    await tracker.trackPayment(paymentOf(order), affiliate, { transaction: inKnex(trx) });
  });
}

export const close = () => knex.destroy();
