import { createRequestHandler } from "@react-router/express";
import express from "express";
import * as build from "./build/server/index.js";
import { tracker } from "./tracker.js";

globalThis.affiliateTracker = tracker;

const app = express();
app.use(tracker, tracker.onClick());
app.use(express.static("build/client"));
app.use(createRequestHandler({ build }));

export const server = app.listen(process.env.PORT ?? 3000);
