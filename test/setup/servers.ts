import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { type Cluster, startCluster } from "../helpers/cluster.js";
import { isFast } from "./fast.js";

declare module "vitest" {
  interface ProvidedContext {
    /**
     * Where the PostgreSQL server is to be had that the test files share, as JSON: see
     * test/helpers/postgres.ts.
     */
    sharedPostgres: string;
  }
}

/**
 * Starts a PostgreSQL server as soon as one test file asks for it, for all that do, and ends it
 * after the last.
 */
export default async function shareServers(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (isFast(project)) return undefined;
  let starting: Promise<Cluster> | undefined;
  const desk = createServer(async (_req, res) => {
    starting ??= startCluster({ fsync: "off", max_connections: 300 });
    try {
      const { host, port } = await starting;
      res.end(JSON.stringify({ host, port }));
    } catch (error) {
      res.writeHead(500).end(String(error));
    }
  });
  desk.listen(0, "127.0.0.1");
  await once(desk, "listening");
  project.provide("sharedPostgres", `http://127.0.0.1:${(desk.address() as AddressInfo).port}`);

  return async () => {
    desk.closeAllConnections();
    desk.close();
    const cluster = await starting?.catch(() => undefined);
    await cluster?.destroy();
  };
}
