import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ConnectionOptions } from "mysql2";
import { standStill } from "./stand-still.js";

/** A MariaDB server of one's own, on a free port of this machine. */
export interface MariaDb {
  readonly uri: string;
  /** What mysql2 connects with. */
  readonly connection: ConnectionOptions & { readonly host: string; readonly port: number };
  /** Ends it, as an administrator would (`fast`) or by SIGKILL (`immediate`, `kill`), and waits for its end. */
  halt(how: keyof typeof SIGNALS): Promise<void>;
  /** Begins it again, on the same port and data. Resolves once it takes connections. */
  resume(): Promise<void>;
  /** Has it stand still: it answers nothing, and its connections stay open. */
  suspend(): void;
  /** Has it go on after `suspend`. */
  wake(): void;
  /** Ends it and removes its data. */
  destroy(): Promise<void>;
}

const HOST = "127.0.0.1";
const USER = "shop";
const PASSWORD = "s3cret";
const DATABASE = "shop";
const SIGNALS = { fast: "SIGTERM", immediate: "SIGKILL", kill: "SIGKILL" } as const;
const SERVERS = [
  "/usr/sbin/mariadbd",
  "/usr/local/sbin/mariadbd",
  "/usr/bin/mariadbd",
  "/usr/local/bin/mariadbd",
];

/** The server's program; `undefined` where there is none on this machine. */
export function programOfMariaDb(): string | undefined {
  return SERVERS.find((path) => existsSync(path));
}

/** @param settings of the server, over its defaults. */
export async function startMariaDb(settings: Record<string, string | number> = {}): Promise<MariaDb> {
  const program = programOfMariaDb();
  if (!program) throw new Error("there is no MariaDB server on this machine");
  const owner = unprivileged();
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-mariadb-"));
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(directory, owner.uid, owner.gid);
  const data = join(directory, "data");
  // A server that starts deletes all temporary tables in its directory, those of other servers too.
  const places = [`--datadir=${data}`, `--tmpdir=${directory}`];
  const install = ["--no-defaults", ...places, "--auth-root-authentication-method=normal"];
  execFileSync("mariadb-install-db", [...install, "--skip-test-db"], {
    ...owner,
    cwd: directory,
    stdio: "pipe",
  });

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
  const args = [
    "--no-defaults",
    ...places,
    ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
  ];
  execFileSync("tee", [join(directory, "init.sql")], {
    ...owner,
    stdio: ["pipe", "ignore", "inherit"],
    input: [
      `create database if not exists ${DATABASE};`,
      `create user if not exists '${USER}'@'%' identified by '${PASSWORD}';`,
      `grant all on *.* to '${USER}'@'%' with grant option;`,
      "",
    ].join("\n"),
  });
  let server: ChildProcess | undefined;

  async function resume(): Promise<void> {
    server = spawn(program as string, args, { ...owner, cwd: directory, stdio: "pipe" });
    const said: string[] = [];
    for await (const line of createInterface({ input: server.stderr as NodeJS.ReadableStream })) {
      said.push(line);
      if (line.includes("ready for connections")) {
        // Whatever else it says, it must not wait for a reader.
        server.stderr?.resume();
        return;
      }
    }
    throw new Error(`MariaDB did not start:\n${said.join("\n")}`);
  }

  async function halt(how: keyof typeof SIGNALS): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill(SIGNALS[how]);
    await ended;
  }

  // The process that started it may end by an error.
  const cleanUp = () => {
    server?.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  };
  process.once("exit", cleanUp);

  await resume();
  const connection = { host: HOST, port, user: USER, password: PASSWORD, database: DATABASE };
  return {
    uri: `mysql://${USER}:${PASSWORD}@${HOST}:${port}/${DATABASE}`,
    connection,
    halt,
    resume,
    suspend() {
      if (server?.pid !== undefined) standStill(server.pid);
    },
    wake: () => void server?.kill("SIGCONT"),
    async destroy() {
      process.removeListener("exit", cleanUp);
      await halt("immediate");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** MariaDB refuses to run as root; where we are root, it runs as a user that its package brings, or as one without rights. */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const names = readFileSync("/etc/passwd", "utf8");
  const name = /^mysql:/m.test(names) ? "mysql" : "nobody";
  const id = (flag: string) => Number(execFileSync("id", [flag, name], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
