import { DataTypes, QueryTypes, Sequelize } from "sequelize";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

const sequelize = new Sequelize(process.env.DATABASE_URL, { logging: false });
const Order = sequelize.define(
  "Order",
  { id: { type: DataTypes.TEXT, primaryKey: true }, email: DataTypes.TEXT, total: DataTypes.DECIMAL },
  { tableName: "orders", timestamps: false },
);

// #region adapter
const inSequelize = (transaction) => ({
  query: (text, bind) => sequelize.query(text, { bind, transaction, type: QueryTypes.SELECT }),
});
// #endregion

export async function checkout(order) {
  await sequelize.transaction(async (transaction) => {
    await Order.create(order, { transaction });
    const inTransaction = { transaction: inSequelize(transaction) };
    await tracker.trackPayment(paymentOf(order), order.affiliate, inTransaction);
  });
}

export const close = () => sequelize.close();
