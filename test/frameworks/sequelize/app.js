import { DataTypes, QueryTypes, Sequelize } from "sequelize";
import { tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

const url = process.env.DATABASE_URL;
const sequelize = new Sequelize(url, { logging: false });
const Order = sequelize.define(
  "Order",
  { id: { type: DataTypes.STRING, primaryKey: true }, email: DataTypes.STRING, total: DataTypes.DECIMAL },
  { tableName: "orders", timestamps: false },
);

// #region postgres
const inPostgres = (transaction) => ({
  query: (text, bind) => sequelize.query(text, { bind, transaction, type: QueryTypes.SELECT }),
});
// #endregion

// #region mysql
const inMysql = (transaction) => ({ query: (text) => sequelize.query(text, { transaction }) });
// #endregion

const inSequelize = url.startsWith("postgres") ? inPostgres : inMysql;

export async function checkout(order) {
  await sequelize.transaction(async (transaction) => {
    await Order.create(order, { transaction });
    const inTransaction = { transaction: inSequelize(transaction) };
    await tracker.trackPayment(paymentOf(order), order.affiliate, inTransaction);
  });
}

export const close = () => sequelize.close();
