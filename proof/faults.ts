/**
 * `npm run proof faults [-- --outbox memory|disk|postgres|mysql] [--row TEXT] [--short]`
 *
 * A service that fails, on real sockets and in real time, with each outbox: every way in which it
 * can fail (faults/ways.ts), crowds of strangers and a backlog (faults/promises.ts). Prints what was
 * measured in each situation. `--row` takes those whose name has this text in it; `--short` one local
 * outbox and one on a server, chosen by the commit. Exits with 1 if something is not as promised, or
 * no name has this text.
 */
import { randomBytes } from "node:crypto";
import { existsSync, statfsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { alone, floods } from "./faults/promises.js";
import { standstill } from "./faults/standstill.js";
import { ways } from "./faults/ways.js";
import { type Opened, openWorld, type Promised, type World } from "./faults/world.js";
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

/** The situations of one list at the same time. */
async function prove(promised: readonly Promised[], { create }: Subject): Promise<Proven[]> {
  const rows = promised.filter(({ name }) => name.includes(options.row));
  const worlds = await Promise.all(rows.map(() => openWorld(create())));
  return Promise.all(rows.map((row, nth) => proveOne(row, worlds[nth] as World)));
}

type Proven = Awaited<ReturnType<typeof proveOne>>;

async function proveOne({ name, run }: Promised, world: World) {
  const [measured, isKept] = await run(world);
  await world.close();
  return { name, requests: world.service.requests, measured, isKept };
}

const all = await subjects();
const proven = new Map<Subject, Proven[]>();
for (const subject of all) proven.set(subject, await prove(ways, subject));
// Those of two outboxes together.
for (let nth = 0; nth < all.length; nth += 2) {
  const two = all.slice(nth, nth + 2);
  await Promise.all(two.map(async (each) => proven.get(each)?.push(...(await prove(floods, each)))));
}
let broken = 0;
for (const subject of all) {
  const rows = proven.get(subject) ?? [];
  for (const each of alone) rows.push(...(await prove([each], subject)));
  const lines = rows.map(({ name, requests, measured, isKept }) => [
    ...[name, `${requests}`, measured, isKept ? "" : "BROKEN"],
  ]);
  const head = [`the service, with the ${subject.name} outbox`, "requests", "measured", ""];
  console.log(`\n${columns([head, ...lines]).join("\n")}`);
  broken += rows.filter(({ isKept }) => !isKept).length;
}
for (const { end } of all) await end?.();
console.log(`\nFor ${Math.round(standstill())} ms, this process got no processor. No wait counts that.`);
console.log(broken > 0 ? `\n${broken} promises are broken.` : "\nEvery promise was kept.");
// `--row` may name none.
const isEmpty = [...proven.values()].some((rows) => rows.length === 0);
if (isEmpty) console.log("There is no such row.");
process.exitCode = broken > 0 || isEmpty ? 1 : 0;
