import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { standStill } from "./stand-still.js";

/** Where a PostgreSQL database is. */
export interface Address {
  readonly connectionString: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

/** A PostgreSQL server of one's own, on a free port of this machine. */
export interface Cluster extends Address {
  /** Ends it, as an administrator would (`fast` or `immediate`) or by SIGKILL of all its processes (`kill`), and waits for its end. */
  halt(how: "fast" | "immediate" | "kill"): Promise<void>;
  /** Begins it again, on the same port and data. Resolves once it takes connections. */
  resume(): Promise<void>;
  /** Has every process of it stand still: it answers nothing, and its connections stay open. */
  suspend(): void;
  /** Has it go on after `suspend`. */
  wake(): void;
  /** Ends it and removes its data. */
  destroy(): Promise<void>;
}

const HOST = "127.0.0.1";
const SIGNALS = { fast: "SIGINT", immediate: "SIGQUIT" } as const;

/** The directory of PostgreSQL's programs; `undefined` where there is no server on this machine. */
export function programsOfPostgres(): string | undefined {
  try {
    const programs = execFileSync("pg_config", ["--bindir"], { encoding: "utf8", stdio: "pipe" }).trim();
    // pg_config comes with the client's library too.
    return existsSync(join(programs, "initdb")) ? programs : undefined;
  } catch {
    return undefined;
  }
}

export function addressOf(host: string, port: number, database = "postgres"): Address {
  return { connectionString: `postgres://postgres@${host}:${port}/${database}`, host, port, database };
}

/** @param settings of the server, over its defaults. */
export async function startCluster(settings: Record<string, string | number> = {}): Promise<Cluster> {
  const programs = programsOfPostgres();
  if (!programs) throw new Error("there is no PostgreSQL server on this machine");
  const owner = unprivileged();
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-postgres-"));
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(directory, owner.uid, owner.gid);
  const initdb = ["-D", directory, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await promisify(execFile)(join(programs, "initdb"), initdb, { ...owner, cwd: directory });

  const port = await freePort();
  const flags = { port, listen_addresses: HOST, unix_socket_directories: "", ...settings };
  const args = [
    "-D",
    directory,
    ...Object.entries(flags).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ];
  let server: ChildProcess | undefined;

  async function resume(): Promise<void> {
    server = spawn(join(programs as string, "postgres"), args, { ...owner, cwd: directory, stdio: "pipe" });
    const said: string[] = [];
    for await (const line of createInterface({ input: server.stderr as NodeJS.ReadableStream })) {
      said.push(line);
      if (line.includes("ready to accept connections")) {
        // Whatever else it says, it must not wait for a reader.
        server.stderr?.resume();
        return;
      }
    }
    throw new Error(`PostgreSQL did not start:\n${said.join("\n")}`);
  }

  async function halt(how: "fast" | "immediate" | "kill"): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    // Not before all its children, which have its standard error too, have ended.
    const ended = once(server, "close");
    if (how !== "kill") server.kill(SIGNALS[how]);
    else {
      // What stands still starts no more children.
      server.kill("SIGSTOP");
      signalAll("SIGKILL");
    }
    await ended;
  }

  /** Its own processes alone: the server that was started here, and the children of that. */
  function signalAll(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    const pid = server?.pid;
    if (pid === undefined) return;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    for (const each of [pid, ...children.split(" ").filter(Boolean).map(Number)]) {
      if (signal === "SIGSTOP") standStill(each);
      else process.kill(each, signal);
    }
  }

  // The process that started it may end by an error.
  const cleanUp = () => {
    server?.kill("SIGQUIT");
    rmSync(directory, { recursive: true, force: true });
  };
  process.once("exit", cleanUp);

  await resume();
  return {
    ...addressOf(HOST, port),
    halt,
    resume,
    suspend: () => signalAll("SIGSTOP"),
    wake: () => signalAll("SIGCONT"),
    async destroy() {
      process.removeListener("exit", cleanUp);
      await halt("immediate");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to run as root; where we are root, it runs as its own user. */
export function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

/** A port of this machine that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
