import { readFile } from "node:fs/promises";
import { postgresMigrations } from "express-affiliate/postgres";
import pg from "pg";

// The owner of the database makes the tables and grants the rights, and the app connects as another role.
const owner = new pg.Client({ connectionString: process.env.DATABASE_URL });
await owner.connect();
for (const statement of postgresMigrations("affiliate")) await owner.query(statement);
const { rowCount } = await owner.query("select from pg_roles where rolname = 'shop'");
if (rowCount === 0) await owner.query("create role shop login");
await owner.query(await readFile("grants.sql", "utf8"));
// For the app's own tables.
await owner.query("grant create on schema public to shop");
await owner.end();

const url = new URL(process.env.DATABASE_URL);
url.username = "shop";
Object.assign(process.env, { DATABASE_URL: url.href, OUTBOX_MIGRATES: "no" });

await import("./transactions.js");
