/**
 * `npm run proof pm2`, after `npm run build`
 *
 * Runs the server of docs/production.md and the ecosystem file of docs/deployment.md under PM2 itself: cluster workers
 * that share a directory. Orders come in while the service is down and while PM2 reloads all
 * workers. Every order that was answered with 200 must have reached the service, once, and PM2 must
 * have killed no worker. Exits with 1 if that is not so. PM2 is installed into the cache first.
 */
import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSandbox } from "express-affiliate/sandbox";
import { request } from "undici";
import { blocksOf, root } from "../test/helpers/docs/pages.js";
import { shopToServe } from "../test/helpers/docs/server.js";
import { freePort } from "../test/helpers/own-server.js";
import { allHold, secondsUntil } from "./shared/figures.js";
import { scratch } from "./shared/scratch.js";

const VERSION = "7";
const ORDERS = 60;

const cache = join(root, "node_modules/.cache/pm2");
const program = join(cache, "node_modules/.bin/pm2");
if (!existsSync(program)) {
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "package.json"), '{ "private": true }');
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--silent", `pm2@${VERSION}`], { cwd: cache });
}

const folder = scratch();
const blockUnder = (page: string, heading: string) =>
  blocksOf(page).find((block) => block.heading === heading)?.code ?? "";
const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
write("package.json", '{ "type": "module" }');
write("server.js", shopToServe + blockUnder("docs/production.md", "The end of a process"));
write("ecosystem.config.cjs", blockUnder("docs/deployment.md", "PM2 and cluster"));
mkdirSync(join(folder, "node_modules/@photostructure"), { recursive: true });
symlinkSync(root, join(folder, "node_modules/express-affiliate"));
for (const name of ["express", "@photostructure/sqlite"]) {
  symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
}

const sandbox = await createSandbox();
const port = await freePort();
const env = {
  ...process.env,
  PM2_HOME: join(folder, "pm2"),
  // However long a worker takes to start.
  PM2_GRACEFUL_LISTEN_TIMEOUT: "120000",
  PORT: String(port),
  OUTBOX_DIRECTORY: join(folder, "outbox"),
  TRACKING_URL: sandbox.url,
  TRACKING_CLIENT_ID: String(sandbox.clientId),
  TRACKING_API_KEY: sandbox.apiKey,
};
const pm2 = (...args: string[]) =>
  execFileSync(program, ["--no-color", ...args], { cwd: folder, env, encoding: "utf8" });

try {
  process.exitCode = (await prove()) ? 0 : 1;
} finally {
  pm2("kill");
  await sandbox.close();
}

async function prove(): Promise<boolean> {
  await sandbox.fail("down");
  pm2("start", "ecosystem.config.cjs");

  const answered = new Set<number>();
  const buy = async (from: number, to: number) => {
    for (let id = from; id < to; id++) {
      // PM2 may give a connection to a worker that ends: as a customer does, tries again.
      if ((await secondsUntil(() => order(id), 60)) >= 60) return;
      answered.add(id);
    }
  };
  await buy(1, ORDERS / 3);
  const reload = once(execFile(program, ["reload", "shop"], { cwd: folder, env }), "close");
  await buy(ORDERS / 3, (2 * ORDERS) / 3);
  await reload;
  await buy((2 * ORDERS) / 3, ORDERS + 1);
  const again = await order(1);

  await sandbox.fail("ok");
  const arrived = () => new Set(sandbox.ledger.payments().map(({ leadValue }) => leadValue));
  const missing = () => [...answered].filter((id) => !arrived().has(id));
  await secondsUntil(() => missing().length === 0);
  pm2("stop", "shop");

  const payments = sandbox.ledger.payments().length;
  const log = readFileSync(join(folder, "pm2/pm2.log"), "utf8");
  const workers = new Set([...log.matchAll(/App \[shop:\d+\] online/g)].map(([line]) => line)).size;
  const killed = (log.match(/SIGKILL/g) ?? []).length;
  return allHold(
    ["workers, reloaded while orders came in", workers, { atLeast: 2 }],
    ["orders answered", answered.size, { atLeast: ORDERS }],
    ["a repeated order answered", Number(again), { atLeast: 1 }],
    ["orders lost", missing().length, { atMost: 0 }],
    ["payments repeated at the service", payments - arrived().size, { atMost: 0 }],
    ["workers killed by PM2", killed, { atMost: 0 }],
  );
}

/** Whether a worker answered 200. Over a connection of its own, so that PM2 chooses the worker. */
async function order(id: number): Promise<boolean> {
  // An amount of its own, so that the ledger tells the orders apart.
  const body = JSON.stringify({ id: `o${id}`, email: "ada@shop.example", total: id });
  const headers = { "content-type": "application/json", cookie: `svc_session_id=s${id}` };
  try {
    const answer = await request(`http://127.0.0.1:${port}/checkout/complete`, {
      ...{ method: "POST", headers, body, reset: true, headersTimeout: 10_000 },
    });
    answer.body.on("error", () => {}).resume();
    return answer.statusCode === 200;
  } catch {
    return false;
  }
}
