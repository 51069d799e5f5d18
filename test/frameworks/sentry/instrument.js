import * as Sentry from "@sentry/node";

Sentry.init({
  dsn: process.env.SENTRY_DSN,
  tracesSampleRate: 1,
  tracePropagationTargets: ["https://api.shop.example"], // your own servers
});
