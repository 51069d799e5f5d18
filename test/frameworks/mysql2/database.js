/** The table of orders. A total above 1,000 is found out after the report: until then all that the transaction did has worked. */
export async function prepare(pool, tracker) {
  await pool.query(
    "create table orders (id varchar(64) primary key, email varchar(256) not null, total double not null, affiliate json)",
  );
  const { trackPayment } = tracker;
  tracker.trackPayment = async (payment, ...rest) => {
    const receipt = await trackPayment(payment, ...rest);
    if (payment.leadValue > 1_000) throw new Error("too much");
    return receipt;
  };
}

/** How many orders there are with this id. */
export async function stored(pool, { id }) {
  const [rows] = await pool.query("select 1 from orders where id = ?", [id]);
  return rows.length;
}
