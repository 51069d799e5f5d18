import express from "express";
import next from "next";
import { getTracker } from "./get-tracker.mjs";

const nextApp = next({ dev: process.env.NODE_ENV === "development" });
await nextApp.prepare();
const handle = nextApp.getRequestHandler();

const app = express();
app.use(getTracker().onClick());
app.use((req, res) => handle(req, res));
app.listen(process.env.PORT);
