import express from "express";
import { handler } from "./build/handler.js";
import { tracker } from "./tracker.js";

// Routes find it there: in the bundle, an import would make another tracker.
globalThis.affiliateTracker = tracker;

const app = express();
app.use(tracker, tracker.onClick(), handler);

export const server = app.listen(process.env.PORT ?? 3000);
