import { EntitySchema, MikroORM } from "@mikro-orm/postgresql";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

const Order = new EntitySchema({
  name: "Order",
  tableName: "orders",
  properties: { id: { type: "text", primary: true }, email: { type: "text" }, total: { type: "decimal" } },
});

const orm = await MikroORM.init({ clientUrl: process.env.DATABASE_URL, entities: [Order] });

// #region adapter
const inMikroOrm = (em) => ({ query: (text, values) => em.execute(text.replaceAll(/\$\d/g, "?"), values) });
// #endregion

export async function checkout({ affiliate, ...order }) {
  await orm.em.fork().transactional(async (em) => {
    em.create(Order, order);
    await em.flush();
    await tracker.trackPayment(paymentOf(order), affiliate, { transaction: inMikroOrm(em) });
  });
}

export const close = () => orm.close();
