import { affiliate } from "express-affiliate";

export const tracker = affiliate({
  enabled: Boolean(process.env.TRACKING_URL), // `ng build` loads this file, without variables
  baseUrl: process.env.TRACKING_URL,
  clientId: Number(process.env.TRACKING_CLIENT_ID),
  apiKey: process.env.TRACKING_API_KEY,
  consent: (_req, cookies) => cookies.consent !== "no", // as your banner keeps the answer
});
