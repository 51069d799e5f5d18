import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { directoryFor, freePort, HOST, type OwnServer, startServer, unprivileged } from "./own-server.js";

/** Where a PostgreSQL database is. */
export interface Address {
  readonly connectionString: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

/** A PostgreSQL server of one's own. */
export interface Cluster extends Address, OwnServer {}

/**
 * The directory of PostgreSQL's programs, Debian's or `POSTGRES_PROGRAMS`; `undefined` if there is
 * no server on this machine.
 */
export function programsOfPostgres(): string | undefined {
  if (process.env.POSTGRES_PROGRAMS) return process.env.POSTGRES_PROGRAMS;
  try {
    const programs = execFileSync("pg_config", ["--bindir"], { encoding: "utf8", stdio: "pipe" }).trim();
    // pg_config comes with the client's library too.
    return existsSync(join(programs, "initdb")) ? programs : undefined;
  } catch {
    return undefined;
  }
}

function addressOf(host: string, port: number, database = "postgres"): Address {
  return { connectionString: `postgres://postgres@${host}:${port}/${database}`, host, port, database };
}

/** Makes a database on a server. */
export async function createDatabase({ host, port }: Address, name: string): Promise<Address> {
  const client = new pg.Client(addressOf(host, port).connectionString);
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return addressOf(host, port, name);
}

/** @param settings of the server, over its defaults. */
export async function startCluster(settings: Record<string, string | number> = {}): Promise<Cluster> {
  const programs = programsOfPostgres();
  if (!programs) throw new Error("there is no PostgreSQL server on this machine");
  const owner = unprivileged();
  const directory = directoryFor("postgres", owner);
  const initdb = ["-D", directory, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await promisify(execFile)(join(programs, "initdb"), initdb, { ...owner, cwd: directory });

  const port = await freePort();
  const flags = { port, listen_addresses: HOST, unix_socket_directories: "", ...settings };
  const args = Object.entries(flags).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = await startServer({
    command: [join(programs, "postgres"), "-D", directory, ...args],
    ready: "ready to accept connections",
    directory,
    owner,
    signals: { fast: "SIGINT", immediate: "SIGQUIT" },
  });
  return { ...addressOf(HOST, port), ...server };
}
