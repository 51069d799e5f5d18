/** The table of orders. A total above 1,000 is found out at the commit: until then all that the transaction did has worked. */
export async function prepare(pool) {
  await pool.query(`
    create table orders (id text primary key, email text not null, total numeric not null, affiliate jsonb);
    create function refuse() returns trigger language plpgsql as $$ begin raise 'too much'; end $$;
    create constraint trigger too_much after insert on orders deferrable initially deferred
      for each row when (new.total > 1000) execute function refuse()`);
}

/** How many orders there are with this id. */
export async function stored(pool, { id }) {
  const { rowCount } = await pool.query("select from orders where id = $1", [id]);
  return rowCount;
}
