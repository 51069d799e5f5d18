import { createSandbox } from "express-affiliate/sandbox";

/** The service that the app reports to. The app reads where it is from the environment, as it would in production. */
export const sandbox = await createSandbox();
Object.assign(process.env, {
  PORT: "0",
  TRACKING_URL: sandbox.url,
  TRACKING_CLIENT_ID: String(sandbox.clientId),
  TRACKING_API_KEY: sandbox.apiKey,
});

// However busy the machine is.
export const timeoutMs = 30_000;

/** Resolves once the service has an entry with these fields. */
export const arrives = (expected) => sandbox.ledger.waitFor(expected, { timeoutMs });
