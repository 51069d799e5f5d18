import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDisk as openForCommand } from "../../../src/cli/outbox/disk.js";
import { diskOutbox } from "../../../src/outbox/disk/disk-outbox.js";
import { receiptTimes } from "../../../src/outbox/fallback.js";
import { until } from "../../contract/stage.js";
import { type Disk, diskOf } from "../../helpers/disk-store.js";
import { startHost } from "../../helpers/host.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { startService } from "../../helpers/service.js";
import { startTracker } from "../../helpers/tracker.js";

const PAYMENT = { paymentId: 1, customerEmail: "ann@shop.example", leadValue: 9 };
const NOWHERE = { baseUrl: "http://127.0.0.1:9", clientId: 1 };

/** A process with a tracker, which delivers nothing unless the options say otherwise. */
const startPaying = (directory: string, script: string, options: object = { ...NOWHERE, delivery: false }) =>
  startHost(`
    const outbox = diskOutbox({ directory: ${JSON.stringify(directory)} });
    const tracker = affiliate({ ...${JSON.stringify(options)}, outbox, logger });
    const pay = (paymentId) => tracker.trackPayment(payment(paymentId), { sessionId: "s" });
    ${script}`);

const spools = (directory: string) => readdirSync(directory).filter((name) => name.includes("-spool-"));

/** What the next process finds. */
async function queuedIn(directory: string): Promise<number> {
  const outbox = diskOutbox({ directory });
  const { queued } = await outbox.look();
  await outbox.close();
  return queued;
}

test("a payment that was reported is not lost when the process is killed in the same tick", async () => {
  const directory = scratchDirectory();
  await startPaying(directory, "for (let id = 1; id <= 250; id++) pay(id); die();").ended;

  expect(spools(directory)).toHaveLength(1);
  expect(await queuedIn(directory)).toBe(250);
});

function locks({ db }: Disk): boolean {
  try {
    db.exec("begin exclusive");
    return true;
  } catch {
    return false;
  }
}

test.each([
  { how: "is killed", last: "die()", code: null },
  { how: "exits", last: "process.exit(3)", code: 3 },
])("nothing is lost when the process $how while its storage fails", async ({ last, code }) => {
  const directory = scratchDirectory();
  const locked = diskOf({}, directory);
  const { host, said, ended } = startPaying(
    directory,
    `say("open"); process.stdin.once("data", async () => {
      const { reason } = await pay(1);
      say(reason); void pay(2); ${last};
    });`,
  );
  await until(() => said.includes("open"), "it was not open");
  await until(() => locks(locked), "it kept the file locked");
  host.stdin?.write("locked");
  expect(await ended).toMatchObject({ code, said: ["open", "storage-trouble"] });
  locked.db.exec("rollback");

  expect(await queuedIn(directory)).toBe(2);
});

test("another process delivers what a killed one had just reported, within a second or two", async () => {
  const directory = scratchDirectory();
  const service = await startService(() => ({ success: true }));
  const options = { baseUrl: service.url, clientId: 1 };
  startTracker({ ...options, outbox: diskOutbox({ directory }) });
  await startPaying(directory, "pay(1); die();", options).ended;

  await until(() => service.posted.length === 1, "nothing was delivered");
  await until(() => spools(directory).length === 1, "the spool of the killed process is still there");
});

test("a process that ends by itself leaves no spool file, and the next one takes in that of one that exits", async () => {
  const directory = scratchDirectory();
  await startPaying(directory, "pay(1);").ended;
  expect(spools(directory)).toEqual([]);
  expect((await startPaying(directory, "pay(2); process.exit(0);").ended).code).toBe(0);
  await startPaying(directory, "setTimeout(() => {}, 1_500);").ended;
  expect(spools(directory)).toEqual([]);
  expect(await queuedIn(directory)).toBe(2);
});

test.each(["process.exit(0)", "setImmediate(() => process.exit(0))"])(
  "a payment waits untried for the next process if its host exits on the receipt: `.then(() => %s)`",
  async (exit) => {
    const directory = scratchDirectory();
    await startPaying(directory, `pay(1).then(() => ${exit});`, NOWHERE).ended;

    const disk = diskOf({ clientId: 1 }, directory);
    const [claim] = await disk.claim(1);
    expect(claim).toMatchObject({ interrupted: false });
  },
);

test("a payment whose request has left stays under way when its process exits", async () => {
  const directory = scratchDirectory();
  const service = await startService(() => undefined);
  const script = 'pay(1); process.stdin.once("data", () => process.exit(0));';
  const { host, ended } = startPaying(directory, script, { baseUrl: service.url, clientId: 1 });
  await until(() => service.posted.length === 1, "nothing was sent");
  host.stdin?.write("exit");
  await ended;

  const disk = diskOf({ clientId: 1 }, directory);
  expect(await disk.claim(1)).toEqual([]);
  expect(await disk.counts(1)).toMatchObject({ queued: 1 });
});

test("close() while the storage fails leaves the payments in a file, and says that they are durable", async () => {
  receiptTimes.withinMs = 1_000;
  const directory = scratchDirectory();
  const locked = diskOf({}, directory);
  const tracker = startTracker({ ...NOWHERE, outbox: diskOutbox({ directory }) });
  locked.db.exec("begin exclusive");
  await tracker.trackPayment(PAYMENT, { sessionId: "s" });

  expect(await tracker.close({ timeoutMs: 500 })).toEqual({ left: 1, durable: true });
  locked.db.exec("rollback");
  expect(await queuedIn(directory)).toBe(1);
});

test("`outbox hold` holds the payments of a killed process, too", async () => {
  const directory = scratchDirectory();
  await startPaying(directory, "pay(1); pay(2); die();").ended;

  const command = openForCommand(directory);
  expect(await command.look()).toMatchObject({ queued: 2 });
  expect(await command.hold()).toBe(2);
  await command.close();
  expect(spools(directory)).toEqual([]);
});

test("the spool holds nobody's address soon after the event is stored", async () => {
  const directory = scratchDirectory();
  const tracker = startTracker({ ...NOWHERE, delivery: false, outbox: diskOutbox({ directory }) });
  const reported = tracker.trackPayment(PAYMENT, { sessionId: "s" });
  const content = () => readFileSync(join(directory, spools(directory)[0] as string), "utf8");
  expect(content()).toContain("ann@shop.example");

  await reported;
  await until(() => content() === "", "the address is still there");
  await tracker.close();
  expect(spools(directory)).toEqual([]);
});
