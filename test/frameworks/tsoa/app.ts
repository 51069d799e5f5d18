import express, { type ErrorRequestHandler } from "express";
import { RegisterRoutes } from "./routes.js";
import { tracker } from "./tracker.js";

const app = express();
app.use(tracker, express.json()); // before `RegisterRoutes`
app.get("/", tracker.onClick(), (_req, res) => void res.send("Welcome"));
RegisterRoutes(app);
app.use(((error, _req, res, _next) => {
  res.status(error.status ?? 500).json({ message: error.message });
}) satisfies ErrorRequestHandler);

export const server = app.listen(process.env.PORT ?? 3000);
