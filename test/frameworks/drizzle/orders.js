import { drizzle } from "drizzle-orm/node-postgres";
import { numeric, pgTable, text } from "drizzle-orm/pg-core";
import { pool } from "./outbox.js";

export const db = drizzle(pool);
export const orders = pgTable("orders", { id: text(), email: text(), total: numeric({ mode: "number" }) });
