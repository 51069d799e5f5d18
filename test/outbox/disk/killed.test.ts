import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { affiliate } from "express-affiliate";
import { expect, inject, onTestFinished, test } from "vitest";
import { openDisk as openForCommand } from "../../../src/cli/outbox/disk.js";
import { diskOutbox } from "../../../src/outbox/disk/disk-outbox.js";
import { until } from "../../../src/testing/contract/recorder.js";
import { diskOf } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { startService } from "../../helpers/service.js";

const required = (subpath: string) => JSON.stringify(join(inject("builtPackage"), `dist/${subpath}.cjs`));

/** A process with a tracker that delivers nothing. */
function startHost(directory: string, script: string): ChildProcess {
  const preamble = `
    const { affiliate } = require(${required("index")});
    const { diskOutbox } = require(${required("disk")});
    const outbox = diskOutbox({ directory: ${JSON.stringify(directory)} });
    const tracker = affiliate({ baseUrl: "http://127.0.0.1:9", clientId: 1, delivery: false, outbox, logger: { warn() {}, error() {} } });
    const pay = (paymentId) => tracker.trackPayment({ paymentId, customerEmail: "ann@shop.example", leadValue: 9 }, { sessionId: "s" });
    const die = () => process.kill(process.pid, "SIGKILL");
  `;
  const host = spawn(process.execPath, ["-e", preamble + script], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void host.kill("SIGKILL"));
  return host;
}

const spools = (directory: string) => readdirSync(directory).filter((name) => name.includes("-spool-"));

/** What the next process finds. */
async function queuedIn(directory: string): Promise<number> {
  const outbox = diskOutbox({ directory });
  const { queued } = outbox.counts();
  await outbox.close();
  return queued;
}

test("a payment that was reported is not lost when the process is killed in the same tick", async () => {
  const directory = scratchDirectory();
  await once(startHost(directory, "for (let id = 1; id <= 250; id++) pay(id); die();"), "exit");

  expect(spools(directory)).toHaveLength(1);
  expect(await queuedIn(directory)).toBe(250);
}, 60_000);

test("nothing is lost when the process is killed while its storage fails", async () => {
  const directory = scratchDirectory();
  const locked = diskOf({}, directory);
  const host = startHost(
    directory,
    `console.log("open"); process.stdin; setTimeout(async () => {
      const { reason } = await pay(1);
      console.log(reason); void pay(2); die();
    }, 100);`,
  );
  await once(host.stdout as never, "data");
  locked.db.exec("begin exclusive");
  const ended = once(host, "exit");
  const [said] = await once(host.stdout as never, "data");
  await ended;
  locked.db.exec("rollback");

  expect(String(said)).toBe("storage-trouble\n");
  expect(await queuedIn(directory)).toBe(2);
}, 60_000);

test("another process delivers what a killed one had just reported, within a second or two", async () => {
  const directory = scratchDirectory();
  const service = await startService(() => ({ success: true }));
  const tracker = affiliate({ baseUrl: service.url, clientId: 1, outbox: diskOutbox({ directory }) });
  onTestFinished(async () => void (await tracker.close()));
  const host = startHost(
    directory,
    `const other = affiliate({ baseUrl: ${JSON.stringify(service.url)}, clientId: 1, outbox: diskOutbox({ directory: ${JSON.stringify(directory)} }), logger: { warn() {}, error() {} } });
    other.trackPayment({ paymentId: 1, customerEmail: "ann@shop.example", leadValue: 9 }, { sessionId: "s" });
    die();`,
  );
  await once(host, "exit");

  await until(() => service.posted.length === 1, "nothing was delivered");
  await until(() => spools(directory).length === 1, "the spool of the killed process is still there");
}, 60_000);

test("a process that exits while its storage fails leaves its payments to the next one", async () => {
  const directory = scratchDirectory();
  const locked = diskOf({}, directory);
  const host = startHost(
    directory,
    `console.log("open"); setTimeout(async () => { await pay(1); void pay(2); process.exit(3); }, 100);`,
  );
  await once(host.stdout as never, "data");
  locked.db.exec("begin exclusive");
  const [code] = await once(host, "exit");
  locked.db.exec("rollback");

  expect(code).toBe(3);
  expect(await queuedIn(directory)).toBe(2);
}, 60_000);

test("a process that exits, or ends by itself, leaves no spool file", async () => {
  const directory = scratchDirectory();
  const [code] = await once(startHost(directory, "pay(1); process.exit(0);"), "exit");
  expect(code).toBe(0);
  expect(spools(directory)).toEqual([]);
  await once(startHost(directory, "pay(2);"), "exit");
  expect(spools(directory)).toEqual([]);
  expect(await queuedIn(directory)).toBe(2);
}, 60_000);

test("close() while the storage fails leaves the payments in a file, and says that they are durable", async () => {
  const directory = scratchDirectory();
  const locked = diskOf({}, directory);
  const tracker = affiliate({
    baseUrl: "http://127.0.0.1:9",
    clientId: 1,
    outbox: diskOutbox({ directory }),
    logger: { warn() {}, error() {} },
  });
  locked.db.exec("begin exclusive");
  const payment = { paymentId: 1, customerEmail: "ann@shop.example", leadValue: 9 };
  await tracker.trackPayment(payment, { sessionId: "s" });

  expect(await tracker.close({ timeoutMs: 500 })).toEqual({ left: 1, durable: true });
  locked.db.exec("rollback");
  expect(await queuedIn(directory)).toBe(1);
}, 60_000);

test("`outbox hold` holds the payments of a killed process, too", async () => {
  const directory = scratchDirectory();
  await once(startHost(directory, "pay(1); pay(2); die();"), "exit");

  const command = openForCommand(directory);
  expect(await command.look()).toMatchObject({ queued: 2 });
  expect(await command.hold()).toMatchObject({ held: 2 });
  await command.close();
  expect(spools(directory)).toEqual([]);
}, 60_000);

test("the spool holds nobody's address soon after the event is stored", async () => {
  const directory = scratchDirectory();
  const tracker = affiliate({
    baseUrl: "http://127.0.0.1:9",
    clientId: 1,
    delivery: false,
    outbox: diskOutbox({ directory }),
  });
  const payment = { paymentId: 1, customerEmail: "ann@shop.example", leadValue: 9 };
  const reported = tracker.trackPayment(payment, { sessionId: "s" });
  const content = () => readFileSync(join(directory, spools(directory)[0] as string), "utf8");
  expect(content()).toContain("ann@shop.example");

  await reported;
  await until(() => content() === "", "the address is still there");
  await tracker.close();
  expect(spools(directory)).toEqual([]);
}, 60_000);
