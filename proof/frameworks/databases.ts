import { createDatabase, startCluster } from "../../test/helpers/cluster.js";
import { createDatabase as createMariaDbDatabase, startMariaDb } from "../../test/helpers/mariadb.js";
import { unprivileged } from "../../test/helpers/own-server.js";
import { startGateway } from "../world/programs/gateway.js";

/** A database in PostgreSQL, in MariaDB, or in PostgreSQL behind PgBouncer in transaction mode. */
export type DatabaseKind = "postgres" | "mysql" | "pgbouncer";

/** Databases for recipes and apps. A server is started for the first database of its kind. */
export function createDatabases() {
  let cluster: ReturnType<typeof startCluster> | undefined;
  let pgbouncer: ReturnType<typeof startPgBouncer> | undefined;
  let mariaDb: ReturnType<typeof startMariaDb> | undefined;
  let count = 0;
  return {
    /** A new one, as its address. */
    async create(kind: DatabaseKind): Promise<string> {
      const name = `recipe_${++count}`;
      if (kind === "mysql") {
        mariaDb ??= startMariaDb({ "innodb-flush-log-at-trx-commit": 0 });
        return (await createMariaDbDatabase(await mariaDb, name)).uri;
      }
      cluster ??= startCluster({ fsync: "off" });
      if (kind === "pgbouncer") pgbouncer ??= cluster.then(startPgBouncer);
      const { host, port } = await createDatabase(await cluster, name);
      const through = kind === "pgbouncer" ? (await pgbouncer)?.port : port;
      return `postgres://postgres@${host}:${through}/${name}`;
    },
    async close(): Promise<void> {
      await (await pgbouncer)?.stop();
      await (await mariaDb)?.destroy();
      await (await cluster)?.destroy();
    },
  };
}

/** PgBouncer in transaction mode, before the server at `host` and `port`. */
function startPgBouncer({ host, port }: { host: string; port: number }) {
  const configuration = (ours: number) => `[databases]
* = host=${host} port=${port} user=postgres
[pgbouncer]
listen_addr = ${host}
listen_port = ${ours}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
max_client_conn = 200
`;
  const command = (path: string) => ["/usr/sbin/pgbouncer", path];
  // It refuses to run as root, and may wait for its clients unless it is killed.
  return startGateway("pgbouncer.ini", configuration, command, { owner: unprivileged(), endedBy: "SIGKILL" });
}
