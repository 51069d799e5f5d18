import type { TestProject } from "vitest/node";
import { serve } from "../../proof/shared/serve.js";
import { startCluster } from "../helpers/cluster.js";
import { startMariaDb } from "../helpers/mariadb.js";
import { isFast } from "./fast.js";

declare module "vitest" {
  interface ProvidedContext {
    /**
     * Where the database servers are to be had that the test files share, as JSON: see
     * test/helpers/postgres.ts and test/helpers/mysql.ts.
     */
    sharedServers: string;
  }
}

const STARTS = {
  "/postgres": () => startCluster({ fsync: "off", max_connections: 300 }),
  "/mariadb": () => startMariaDb({ "innodb-flush-log-at-trx-commit": 2, "max-connections": 500 }),
};

/**
 * Starts a database server as soon as one test file asks for it, for all that do, and ends it after
 * the last.
 */
export default async function shareServers(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (isFast(project)) return undefined;
  const starting = new Map<keyof typeof STARTS, ReturnType<(typeof STARTS)[keyof typeof STARTS]>>();
  const desk = await serve(async ({ url }, res) => {
    const path = url as keyof typeof STARTS;
    if (!starting.has(path)) starting.set(path, STARTS[path]());
    // Otherwise a test file may send its next request as the desk closes an idle connection.
    res.setHeader("connection", "close");
    try {
      res.end(JSON.stringify(await starting.get(path)));
    } catch (error) {
      res.writeHead(500).end(String(error));
    }
  });
  project.provide("sharedServers", `http://127.0.0.1:${desk.port}`);

  return async () => {
    await desk.stop();
    for (const each of starting.values()) await (await each.catch(() => undefined))?.destroy();
  };
}
