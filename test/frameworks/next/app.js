import express from "express";
import next from "next";
import { getTracker } from "./get-tracker.js";

// #region server
const nextApp = next({ dev: process.env.NODE_ENV === "development" });
await nextApp.prepare();
const handle = nextApp.getRequestHandler();

const app = express();
app.get("/", getTracker().onClick());
app.use((req, res) => handle(req, res));
// #endregion

export const server = app.listen(process.env.PORT ?? 3000);

export async function close() {
  server.close();
  await nextApp.close();
}
