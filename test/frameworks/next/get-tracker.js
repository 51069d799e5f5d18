import { affiliate } from "express-affiliate";

/** Made at the first use: `next build` loads this file too. In `globalThis`: Next loads a copy of this file. */
export function getTracker() {
  globalThis.affiliateTracker ??= affiliate({
    baseUrl: process.env.TRACKING_URL,
    clientId: Number(process.env.TRACKING_CLIENT_ID),
    apiKey: process.env.TRACKING_API_KEY,
    consent: (_req, cookies) => cookies.consent !== "no", // as your banner keeps the answer
  });
  return globalThis.affiliateTracker;
}
