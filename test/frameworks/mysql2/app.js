import { pool, tracker } from "./outbox.js";
import { paymentOf } from "./payment.js";

export async function checkout({ affiliate, ...order }) {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    await connection.query("insert into orders set ?", order);
    await tracker.trackPayment(paymentOf(order), affiliate, { transaction: connection });
    await connection.commit();
  } catch (error) {
    await connection.rollback();
    throw error;
  } finally {
    connection.release();
  }
}
