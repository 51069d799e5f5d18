import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { secondsUntil } from "../../../proof/shared/figures.js";
import { diskOutbox } from "../../../src/outbox/disk/disk-outbox.js";
import { until } from "../../contract/stage.js";
import { startHost } from "../../helpers/host.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { startService } from "../../helpers/service.js";
import { startTracker } from "../../helpers/tracker.js";
import { outboxIn } from "../../helpers/watched-outbox.js";

// It sees no other process's id, and they do not see its.
const CONTAINER = ["unshare", "--fork", "--kill-child", "--pid", "--mount-proc"];

test.each([
  { from: "a killed process", by: [], exits: false },
  { from: "one that exits", by: [], exits: true },
  ...(process.getuid?.() === 0
    ? [{ from: "one killed in another container", by: CONTAINER, exits: false }]
    : []),
])("the disk outbox takes over from $from within 5 s, and not after its lease", async ({ by, exits }) => {
  const directory = scratchDirectory();
  const service = await startService();
  const script = `
    const outbox = diskOutbox({ directory: "${directory}", leaseMs: 3_600_000 });
    const clientId = 1;
    const deliver = (claim) => { claim.isLeased(); say("claimed"); return new Promise(() => {}); };
    outbox.bind(clientId);
    outbox.add({ ...event, destination: clientId, id: "e".repeat(32) });
    const capacity = () => ({ limit: 1, lanes: [{ endpoint: "click", limit: 1 }] });
    outbox.start({ capacity, deliver, settled() {} }, { degraded() {}, dropped() {}, recovered() {} });
    process.stdin.once("data", () => process.exit());
  `;
  const { host, said, ended } = startHost(script, { by });
  await until(() => said.includes("claimed"), "nothing was claimed");
  const locks = () => readdirSync(directory).filter((name) => name.includes(".owner-"));
  const [lock] = locks();
  const outbox = diskOutbox({ directory, leaseMs: 3_600_000 });
  startTracker({ baseUrl: service.url, clientId: 1, outbox });
  if (exits) host.stdin?.write("exit");
  else host.kill("SIGKILL");
  await ended;

  // Of this process's timers: however long the machine stalls.
  expect(await secondsUntil(() => service.posted.length === 1, 20)).toBeLessThan(5);
  expect(locks()).toHaveLength(2);
  expect(locks()).toContain(lock);
});

test("the disk outbox stores what it has when its process exits, closes its file, and leaves the exit code alone", async () => {
  const directory = scratchDirectory();
  const { ended } = startHost(`
    const outbox = diskOutbox({ directory: "${directory}" });
    for (let n = 0; n < 1000; n++) outbox.add({ ...event, kind: "payment", id: String(n).padStart(4, "0").repeat(8) });
    setImmediate(() => setImmediate(() => {
      outbox.add({ ...event, kind: "payment", id: "f".repeat(32) });
      process.exit(3);
    }));
  `);

  expect(await ended).toMatchObject({ code: 3, errors: "" });
  // If no process has it open any more, SQLite has no log beside it.
  const spool = expect.stringContaining("-spool-");
  expect(readdirSync(directory)).toEqual(["outbox.db", spool]);
  expect(outboxIn(directory).counts().queued).toBe(1001);
});

test("a process that exits after a close() that ran out of time ends with its own code", async () => {
  const service = await startService(() => undefined);
  const run = () =>
    startHost(`
      const outbox = diskOutbox({ directory: "${scratchDirectory()}" });
      const tracker = affiliate({ baseUrl: "${service.url}", clientId: 1, outbox, logger });
      for (let id = 1; id <= 20; id++) tracker.trackPayment(payment(id), { sessionId: "s" + id });
      tracker.on("attempt", () => {
        tracker.close({ timeoutMs: 1 }).then(() => process.exit(7));
      });
    `).ended;

  const ended = await Promise.all(Array.from({ length: 6 }, run));
  expect(ended.map(({ code, errors }) => ({ code, errors }))).toEqual(
    ended.map(() => ({ code: 7, errors: "" })),
  );
});
