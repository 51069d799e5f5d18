/**
 * `npm run proof faults [-- --outbox memory|disk|postgres|mysql] [--row TEXT] [--short]`
 *
 * A service that fails, on real sockets and in real time, with each outbox: every way in which it
 * can fail (faults/service.ts). Prints what was measured in each. `--row` takes those whose name has
 * this text in it; `--short` one local outbox and one on a server, chosen by the commit. Exits with 1
 * if something is not as promised, or no name has this text.
 */
import { randomBytes } from "node:crypto";
import { existsSync, statfsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { faults } from "./faults/service.js";
import { type Opened, prove } from "./faults/ways.js";
import { kindFrom, open, startServer, UNFLUSHED } from "./outboxes/server.js";
import { columns } from "./shared/figures.js";
import { commandLine } from "./shared/options.js";
import { scratch } from "./shared/scratch.js";
import { inTurn } from "./shared/turn.js";

/** An outbox: makes one of its own for each situation. */
interface Subject {
  readonly name: string;
  create(): Opened;
  end?(): Promise<void>;
}

const { options } = commandLine({ outbox: "", row: "", short: false });

/** The disk outbox' files are in memory if there is room, as the servers are without flushes. */
const MEMORY = freeBytes("/dev/shm") >= 512 * 2 ** 20 ? "/dev/shm" : undefined;

function freeBytes(path: string): number {
  if (!existsSync(path)) return 0;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

const LOCAL: readonly Subject[] = [
  { name: "memory", create: () => ({ outbox: memoryOutbox() }) },
  {
    name: "disk",
    create() {
      const directory = scratch(undefined, MEMORY);
      return {
        outbox: diskOutbox({ directory }),
        end: () => rm(directory, { recursive: true, maxRetries: 10 }),
      };
    },
  },
];

async function onServer(name: string): Promise<Subject> {
  const kind = kindFrom(name);
  const { uri, destroy } = await startServer(kind, UNFLUSHED[kind]);
  const tables = () => `faults_${randomBytes(4).toString("hex")}`;
  return { name, create: () => open(kind, uri, { name: tables(), connections: 4 }), end: destroy };
}

async function subjects(): Promise<Subject[]> {
  const servers = Object.keys(UNFLUSHED);
  if (options.short) return [inTurn("outbox", LOCAL), await onServer(inTurn("outbox on a server", servers))];
  const local = LOCAL.filter(({ name }) => [name, ""].includes(options.outbox));
  if (options.outbox !== "" && local.length > 0) return local;
  const named = options.outbox === "" ? servers : [options.outbox];
  return [...local, ...(await Promise.all(named.map(onServer)))];
}

const all = await subjects();
const ways = Object.keys(faults).filter((name) => name.includes(options.row));
let broken = 0;
for (const { name, create } of all) {
  const rows = await Promise.all(ways.map((way) => prove(way, create())));
  const lines = rows.map(({ name, requests, measured, isKept }) => [
    ...[name, `${requests}`, measured, isKept ? "" : "BROKEN"],
  ]);
  const head = [`the service, with the ${name} outbox`, "requests", "measured", ""];
  console.log(`\n${columns([head, ...lines]).join("\n")}`);
  broken += rows.filter(({ isKept }) => !isKept).length;
}
for (const { end } of all) await end?.();
console.log(broken > 0 ? `\n${broken} promises are broken.` : "\nEvery promise was kept.");
// `--row` may name none.
if (ways.length === 0) console.log("There is no such row.");
process.exitCode = broken > 0 || ways.length === 0 ? 1 : 0;
