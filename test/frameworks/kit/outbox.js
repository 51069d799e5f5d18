import { affiliate } from "express-affiliate";
import { postgresOutbox } from "express-affiliate/postgres";
import pg from "pg";

export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

export const tracker = affiliate({
  baseUrl: process.env.TRACKING_URL,
  clientId: Number(process.env.TRACKING_CLIENT_ID),
  apiKey: process.env.TRACKING_API_KEY,
  outbox: postgresOutbox({ pool }),
});
