import { unprivileged } from "../../test/helpers/own-server.js";
import { type Gateway, startGateway } from "../world/programs/gateway.js";

/** PgBouncer in transaction mode, before the server at `host` and `port`. */
export function startPgBouncer({ host, port }: { host: string; port: number }): Promise<Gateway> {
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
