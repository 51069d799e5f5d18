import { affiliate } from "express-affiliate";
import { mysqlOutbox } from "express-affiliate/mysql";
import mysql from "mysql2/promise";

export const pool = mysql.createPool(process.env.DATABASE_URL);

export const tracker = affiliate({
  baseUrl: process.env.TRACKING_URL,
  clientId: Number(process.env.TRACKING_CLIENT_ID),
  apiKey: process.env.TRACKING_API_KEY,
  outbox: mysqlOutbox({ pool }),
});
