import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "./cluster.js";
import { directoryFor, freePort, startServer, unprivileged } from "./own-server.js";

/** PgBouncer in transaction mode, before a server. */
export interface Bouncer {
  readonly host: string;
  readonly port: number;
  end(): Promise<void>;
}

/** PgBouncer's program; `undefined` if this machine has none. */
export function programOfBouncer(): string | undefined {
  try {
    return execFileSync("sh", ["-c", "PATH=$PATH:/usr/sbin command -v pgbouncer"], {
      encoding: "utf8",
    }).trim();
  } catch {
    return undefined;
  }
}

export async function startBouncer(program: string, { host, port }: Cluster): Promise<Bouncer> {
  const owner = unprivileged();
  const directory = directoryFor("bouncer", owner);
  const configuration = join(directory, "pgbouncer.ini");
  const own = await freePort();
  const lines = [
    "[databases]",
    `postgres = host=${host} port=${port} dbname=postgres user=postgres`,
    "[pgbouncer]",
    `listen_addr = ${host}`,
    `listen_port = ${own}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
  ];
  writeFileSync(configuration, lines.join("\n"));
  const server = await startServer({
    command: [program, configuration],
    ready: "process up",
    directory,
    owner,
    signals: { fast: "SIGKILL", immediate: "SIGKILL" },
  });
  return { host, port: own, end: server.destroy };
}
