import { double, mysqlTable, varchar } from "drizzle-orm/mysql-core";
import { drizzle } from "drizzle-orm/mysql2";
import { pool } from "./outbox.js";

export const db = drizzle({ client: pool });
export const orders = mysqlTable("orders", {
  id: varchar({ length: 64 }),
  email: varchar({ length: 256 }),
  total: double(),
});
