import { randomUUID } from "node:crypto";
import express from "express";
import pg from "pg";
import { tracker } from "./tracker.js";

export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const app = express();
app.use(tracker, express.json());

app.get("/", tracker.onClick(), (_req, res) => res.send("Welcome"));

await pool.query(`create table users (id uuid primary key, email text, click_id text, session_id text)`);
await pool.query(`create table json_users (id uuid primary key, email text, affiliate jsonb)`);
await pool.query(`create table text_users (id uuid primary key, email text, affiliate text)`);

app.post(
  "/signup",
  tracker.onRegistration(async (req, res) => {
    const { clickId, sessionId } = req.affiliate.snapshot();
    const user = { id: randomUUID(), email: req.body.email };
    const values = [user.id, user.email, clickId, sessionId];
    await pool.query("insert into users (id, email, click_id, session_id) values ($1, $2, $3, $4)", values);
    const registration = { email: user.email, customerId: user.id };
    res.status(201).json(user);
    return registration;
  }),
);

async function renew(user, invoice) {
  const payment = { paymentId: invoice.id, customerEmail: user.email, leadValue: invoice.total };
  return tracker.trackPayment(payment, { clickId: user.click_id, sessionId: user.session_id });
}

async function signUp(table, email, affiliate) {
  const values = [randomUUID(), email, JSON.stringify(affiliate)];
  await pool.query(`insert into ${table} (id, email, affiliate) values ($1, $2, $3)`, values);
}

/** `user.affiliate` is what the column gives: an object for JSON and JSONB, a text for TEXT. */
async function renewFromJson(user, invoice) {
  const payment = { paymentId: invoice.id, customerEmail: user.email, leadValue: invoice.total };
  return tracker.trackPayment(payment, user.affiliate);
}

for (const table of ["json_users", "text_users"]) {
  app.post(
    `/signup/${table}`,
    tracker.onRegistration(async (req, res) => {
      await signUp(table, req.body.email, req.affiliate.snapshot());
      res.sendStatus(201);
      return { email: req.body.email };
    }),
  );
}

/** As the job does that charges all customers of a table once a month. */
export async function renewAll(table, month) {
  const { rows } = await pool.query(`select * from ${table}`);
  return Promise.all(
    rows.map((user) =>
      (table === "users" ? renew : renewFromJson)(user, { id: `${user.id} ${month}`, total: "19.90" }),
    ),
  );
}

export const server = app.listen(process.env.PORT ?? 3000);

export async function close() {
  server.close();
  await pool.end();
}
