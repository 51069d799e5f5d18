import { diskOutbox } from "express-affiliate/disk";
import { describe, expect, it } from "vitest";
import { doctorCommand } from "../../../src/cli/doctor/command.js";
import type { Outbox } from "../../../src/outbox/outbox.js";
import { sample, scheduledSample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { startService } from "../../helpers/service.js";
import { sendClick, sendPayment, startSandbox } from "../../sandbox/helpers.js";
import { runCommand } from "../helpers.js";

async function doctor(args: string[]): Promise<string[]> {
  return (await runCommand(doctorCommand, args)).out;
}

const TIME = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;

async function showsLast(create: () => Outbox | Promise<Outbox>, where: () => readonly string[]) {
  await using stage = await Stage.open(create);
  const [delivered, dead, behind] = [sample("payment"), sample("payment"), sample("payment")];
  const click = sample("click");
  stage.start();
  await stage.add(delivered);
  (await stage.delivery.next()).settle({ type: "delivered" });
  await stage.empty();
  await stage.giveUp([dead]);
  await stage.pause();
  const later = scheduledSample(60_000);
  await stage.add(click, behind, later);
  // A claim that was under way as the capacity changed may have taken one of them.
  stage.delivery.close();
  await stage.close();

  const here = where();
  const out = await doctor([...here, "--last"]);
  expect(out.slice(0, 3)).toEqual([
    expect.stringMatching(/^ok {6}the \w+ outbox is there, and of this version$/),
    "ok      it may be written to",
    expect.stringMatching(/^ok {6}2 events queued, the oldest since /),
  ]);
  const line = (mark: string, { kind, id }: { kind: string; id: string }, fate: string) =>
    expect.stringMatching(new RegExp(`^${mark} +${kind} ${id}: ${fate.replaceAll("TIME", TIME)}`));
  const isReported = "reported TIME, (waits|an attempt is under way)";
  expect(out).toEqual(
    expect.arrayContaining([
      line("ok", delivered, "reported TIME, delivered, cancelled, erased or discarded$"),
      line("note", dead, "given up TIME: rejected$"),
      line("ok", click, isReported),
      line("ok", behind, isReported),
      line("ok", later, "reported TIME, waits until TIME$"),
    ]),
  );
  expect(await doctor([...here])).not.toContainEqual(expect.stringContaining(click.id));
}

describe("doctor --last", () => {
  it("shows what became of the last events of a disk outbox", async () => {
    const directory = scratchDirectory();
    await showsLast(
      () => diskOutbox({ directory }),
      () => ["--outbox", directory],
    );
  });

  it("says of an outbox without events that there were none", async () => {
    const directory = scratchDirectory();
    const opened = diskOutbox({ directory });
    opened.counts();
    await opened.close();
    expect(await doctor(["--outbox", directory, "--last"])).toContain("note    no event was reported yet");
  });

  it("shows what a sandbox has recorded last, and whom it credits", async () => {
    const sandbox = await startSandbox();
    const here = ["--base-url", sandbox.url, "--client-id", String(sandbox.clientId), "--last"];
    expect(await doctor(here)).toContain("note    the sandbox has recorded nothing yet");
    await sendClick(sandbox);
    await sendPayment(sandbox);
    await sendPayment(sandbox, { customerEmail: "cy@shop.test", sessionId: "session-2" });
    const out = await doctor(here);
    expect(out.filter((line) => line.includes("recorded 2"))).toEqual([
      expect.stringMatching(
        new RegExp(`^note +recorded ${TIME}: a payment, credited to no affiliate: no-click`),
      ),
      expect.stringMatching(new RegExp(`^ok +recorded ${TIME}: a payment, credited to ALICE$`)),
      expect.stringMatching(new RegExp(`^ok +recorded ${TIME}: a click, credited to ALICE$`)),
    ]);
  });

  it.each([
    { success: true },
    { clicks: 1 },
    { clicks: [], registrations: [null], payments: [] },
    { clicks: [{ kind: "click", at: "now" }], registrations: [], payments: [] },
  ])("says that a service has no ledger: it answers %j", async (answer) => {
    const { url } = await startService(() => answer);
    expect(await doctor(["--base-url", url, "--client-id", "42", "--last"])).toContainEqual(
      expect.stringMatching(/^- +what the service has recorded last cannot be asked/),
    );
  });
});

describeWithMariaDb("doctor --last", (database) => {
  const here = () => ["--outbox", database.server.uri, "--prefix", database.prefix];

  it("shows what became of the last events of a MySQL outbox", () =>
    showsLast(() => database.create(), here));
});

describeWithPostgres("doctor --last", (database) => {
  const here = () => ["--outbox", database.cluster.connectionString, "--schema", database.schema];

  it("shows what became of the last events of a Postgres outbox", () =>
    showsLast(() => database.create(), here));
});
