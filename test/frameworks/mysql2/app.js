import { pool, tracker } from "./outbox.js";

export async function checkout(order) {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    await connection.query("insert into orders (id, email, total) values (?, ?, ?)", [
      order.id,
      order.email,
      order.total,
    ]);
    await tracker.trackPayment(
      { paymentId: order.id, customerEmail: order.email, leadValue: order.total },
      order.attribution,
      { transaction: connection },
    );
    await connection.commit();
  } catch (error) {
    await connection.rollback();
    throw error;
  } finally {
    connection.release();
  }
}
