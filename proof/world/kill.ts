import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Figure, Part } from "./shared/part.js";

const VISITORS = 300;
const HOST = fileURLToPath(new URL("./processes/disk-host.js", import.meta.url));
// As in another container: it sees no other process's id, and they do not see its.
const IN_A_CONTAINER = ["unshare", "--fork", "--kill-child", "--pid", "--mount-proc"];

/** A service that takes an event and answers a second later, until it is told to answer at once. */
async function startService() {
  const keys = new Set<string>();
  let paymentsTwice = 0;
  let answersInMs = 1_000;
  const server = createServer(async (req, res) => {
    for await (const _ of req);
    const key = String(req.headers["idempotency-key"]);
    if (keys.has(key) && req.url?.endsWith("/payment")) paymentsTwice++;
    if (req.method === "POST") keys.add(key);
    setTimeout(() => res.setHeader("content-type", "application/json").end('{"success":true}'), answersInMs);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys,
    get paymentsTwice() {
      return paymentsTwice;
    },
    answerAtOnce(): void {
      answersInMs = 5;
    },
    stop(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** @param onHeld is told the id of each event that the host holds. */
async function startHost(
  [url, directory, visitors]: readonly [string, string, number],
  { prefix = [], onHeld }: { prefix?: readonly string[]; onHeld(id: string): void },
) {
  const [command, ...args] = [...prefix, process.execPath, HOST, url, directory, String(visitors)];
  const child = spawn(command as string, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  lines.on("line", (line) => line.startsWith("held ") && onHeld(line.slice("held ".length)));
  await once(lines, "line");
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

const passing = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Kills a host in the middle of its deliveries. Returns what became of its events once another, or the same one again, goes on. */
async function killed(goesOn: "alone" | "another" | "container") {
  const service = await startService();
  const directory = mkdtempSync(join(tmpdir(), "express-affiliate-proof-"));
  const held = new Set<string>();
  const start = (visitors: number, prefix: readonly string[] = []) =>
    startHost([service.url, directory, visitors], { prefix, onHeld: (id) => held.add(id) });
  const missing = () => 3 * VISITORS - new Set([...service.keys, ...held]).size;

  const other = goesOn === "alone" ? undefined : await start(0, goesOn === "container" ? IN_A_CONTAINER : []);
  const host = await start(VISITORS);
  while (service.keys.size < 20) await passing();
  await kill(host);
  service.answerAtOnce();
  const from = performance.now();
  const successor = other ?? (await start(0));
  while (missing() > 0 && performance.now() - from < 60_000) await passing();
  const seconds = Math.round((performance.now() - from) / 100) / 10;
  await kill(successor);
  service.stop();
  rmSync(directory, { recursive: true });
  return { seconds, lost: missing(), held: held.size, paymentsTwice: service.paymentsTwice };
}

const part: Part = {
  title: `a host with a disk outbox is killed with the events of ${VISITORS} visitors, some of them claimed`,
  async prove() {
    const figures: Figure[] = [];
    for (const [goesOn, who] of [
      ["alone", "started again, alone"],
      ["another", "another process goes on"],
      ["container", "a process in another container goes on"],
    ] as const) {
      const { seconds, lost, held, paymentsTwice } = await killed(goesOn);
      figures.push(
        {
          what: `${who}: the last event has arrived, or is held, after`,
          measured: seconds,
          unit: "s",
          atMost: 5,
        },
        { what: `${who}: events lost`, measured: lost, atMost: 0 },
        { what: `${who}: payments held, for they were under way`, measured: held, atMost: 8 },
        { what: `${who}: payments twice`, measured: paymentsTwice, atMost: 0 },
      );
    }
    return figures;
  },
};

export default part;
