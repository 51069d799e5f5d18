import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Cluster, freePort, unprivileged } from "./cluster.js";

/** PgBouncer in transaction mode, before a server. */
export interface Bouncer {
  readonly host: string;
  readonly port: number;
  end(): Promise<void>;
}

/** PgBouncer's program; `undefined` where this machine has none. */
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
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-bouncer-"));
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
  const owner = unprivileged();
  execFileSync("chmod", ["-R", "a+rX", directory]);
  const child: ChildProcess = spawn(program, [configuration], { ...owner, cwd: directory, stdio: "pipe" });
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    if (line.includes("process up")) break;
  }
  child.stderr?.resume();
  return {
    host,
    port: own,
    async end() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
