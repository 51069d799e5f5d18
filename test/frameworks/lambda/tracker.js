import { affiliate } from "express-affiliate";

/** What has to be done before the function returns. */
export const pending = [];

export const tracker = affiliate({
  baseUrl: process.env.TRACKING_URL,
  clientId: Number(process.env.TRACKING_CLIENT_ID),
  apiKey: process.env.TRACKING_API_KEY,
  consent: (_req, cookies) => cookies.consent !== "no", // as your banner keeps the answer
  waitUntil: (promise) => pending.push(promise),
});
