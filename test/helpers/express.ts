import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import express5, { type Express } from "express";
import express4 from "express4";
import { onTestFinished } from "vitest";

/** Both majors that the package supports, for `describe.each`. */
export const eachExpress = [
  { name: "Express 4", express: express4 },
  { name: "Express 5", express: express5 },
] as const;

/** Serves an app on a free port until the test ends. */
export async function serve(app: Express): Promise<{ server: Server; port: number }> {
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port };
}
