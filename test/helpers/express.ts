import { createServer, type Server } from "node:http";
import express5, { type Express } from "express";
import express4 from "express4";
import { listening } from "./listening.js";

/** Both majors that the package supports, for `describe.each`. */
export const eachExpress = [
  { name: "Express 4", express: express4 },
  { name: "Express 5", express: express5 },
] as const;

/** Serves an app on a free port until the test ends. */
export async function serve(app: Express): Promise<{ server: Server; port: number }> {
  const server = createServer(app);
  return { server, port: await listening(server) };
}
