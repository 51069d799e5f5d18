import { DataSource, EntitySchema } from "typeorm";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

const Order = new EntitySchema({
  name: "Order",
  tableName: "orders",
  columns: { id: { type: "varchar", primary: true }, email: { type: "varchar" }, total: { type: "numeric" } },
});

const url = process.env.DATABASE_URL;
const type = url.split(":")[0]; // postgres or mysql
const dataSource = new DataSource({ type, url, entities: [Order] });
await dataSource.initialize();

export async function checkout(order) {
  await dataSource.transaction(async (manager) => {
    await manager.insert(Order, { id: order.id, email: order.email, total: order.total });
    await tracker.trackPayment(paymentOf(order), order.affiliate, { transaction: manager });
  });
}

export const close = () => dataSource.destroy();
