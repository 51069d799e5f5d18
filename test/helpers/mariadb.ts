import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ConnectionOptions } from "mysql2";
import mysql from "mysql2/promise";
import { directoryFor, freePort, HOST, type OwnServer, startServer, unprivileged } from "./own-server.js";

/** Where a MariaDB database is. */
export interface Address {
  readonly uri: string;
  /** What mysql2 connects with. */
  readonly connection: ConnectionOptions & { readonly host: string; readonly port: number };
}

/** A MariaDB server of one's own. */
export interface MariaDb extends Address, OwnServer {}

const USER = "shop";
const PASSWORD = "s3cret";
const SERVERS = [
  "/usr/sbin/mariadbd",
  "/usr/local/sbin/mariadbd",
  "/usr/bin/mariadbd",
  "/usr/local/bin/mariadbd",
];

/** The server's program; `undefined` if there is none on this machine. */
export const programOfMariaDb = (): string | undefined => SERVERS.find((path) => existsSync(path));

function addressOf(port: number, database = "shop"): Address {
  return {
    uri: `mysql://${USER}:${PASSWORD}@${HOST}:${port}/${database}`,
    connection: { host: HOST, port, user: USER, password: PASSWORD, database },
  };
}

/** Makes a database on a server. */
export async function createDatabase({ connection }: Address, name: string): Promise<Address> {
  const client = await mysql.createConnection(connection);
  await client.query(`create database ${name}`);
  await client.end();
  return addressOf(connection.port, name);
}

/** @param settings of the server, over its defaults. */
export async function startMariaDb(settings: Record<string, string | number> = {}): Promise<MariaDb> {
  const program = programOfMariaDb();
  if (!program) throw new Error("there is no MariaDB server on this machine");
  // A user that its package brings, or one without rights.
  const owner = unprivileged(/^mysql:/m.test(readFileSync("/etc/passwd", "utf8")) ? "mysql" : "nobody");
  const directory = directoryFor("mariadb", owner);
  // A server that starts deletes all temporary tables in its directory, those of other servers too.
  const places = ["--no-defaults", `--datadir=${join(directory, "data")}`, `--tmpdir=${directory}`];
  const install = [...places, "--auth-root-authentication-method=normal", "--skip-test-db"];
  await promisify(execFile)("mariadb-install-db", install, { ...owner, cwd: directory });

  const port = await freePort();
  const flags = {
    port,
    "bind-address": HOST,
    socket: join(directory, "socket"),
    "pid-file": join(directory, "pid"),
    "innodb-buffer-pool-size": "64M",
    "init-file": join(directory, "init.sql"),
    ...settings,
  };
  const init = [
    "create database if not exists shop;",
    `create user if not exists '${USER}'@'%' identified by '${PASSWORD}';`,
    `grant all on *.* to '${USER}'@'%' with grant option;\n`,
  ];
  writeFileSync(flags["init-file"], init.join("\n"));
  const server = await startServer({
    command: [program, ...places, ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)],
    ready: "ready for connections",
    directory,
    owner,
    signals: { fast: "SIGTERM", immediate: "SIGKILL" },
  });
  return { ...addressOf(port), ...server };
}
