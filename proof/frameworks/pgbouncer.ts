import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "../../test/helpers/cluster.js";

const PROGRAM = "/usr/sbin/pgbouncer";

/** PgBouncer in transaction mode, before the server at `host` and `port`. */
export interface PgBouncer {
  readonly port: number;
  close(): Promise<void>;
}

export async function startPgBouncer({ host, port }: { host: string; port: number }): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), "express-affiliate-pgbouncer-"));
  const ours = await freePort();
  const settings = join(folder, "pgbouncer.ini");
  writeFileSync(
    settings,
    `[databases]
* = host=${host} port=${port} user=postgres
[pgbouncer]
listen_addr = ${host}
listen_port = ${ours}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
max_client_conn = 200
`,
  );
  // It refuses to run as root.
  const owner = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : undefined;
  if (owner) for (const path of [folder, settings]) chownSync(path, owner.uid, owner.gid);
  const program = spawn(PROGRAM, [settings], { ...owner, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  await untilUp(program);
  return {
    port: ours,
    async close() {
      const ended = once(program, "exit");
      program.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const idOf = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));

async function untilUp(program: ChildProcess): Promise<void> {
  await once(program, "spawn");
  const said: string[] = [];
  for await (const line of createInterface({ input: program.stderr as NodeJS.ReadableStream })) {
    said.push(line);
    if (line.includes("process up")) {
      program.stderr?.resume();
      return;
    }
  }
  throw new Error(`PgBouncer did not start:\n${said.join("\n")}`);
}
