import { pool, tracker } from "./outbox.js";

export async function checkout(order) {
  // #region transaction
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query("insert into orders (id, email, total) values ($1, $2, $3)", [
      order.id,
      order.email,
      order.total,
    ]);
    await tracker.trackPayment(
      { paymentId: order.id, customerEmail: order.email, leadValue: order.total },
      order.affiliate,
      { transaction: client },
    );
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
  // #endregion
}
