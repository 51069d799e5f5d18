import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { OutboxEvent } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { describe, expect, it, onTestFinished, test, vi } from "vitest";
import { copyInto } from "../../../src/cli/outbox/disk.js";
import { fill } from "../../contract/bounds.js";
import { DESTINATION, sample } from "../../contract/samples.js";
import { REJECTED, Stage } from "../../contract/stage.js";
import { openDisk } from "../../helpers/disk-store.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { HOUR_MS } from "../../helpers/times.js";
import { expectMissing, testStorage } from "./databases.js";
import { directoryWith, jsonOf, outbox } from "./helpers.js";

/** What a process that opens the outbox from here on would find. */
async function found(directory: string) {
  const reopened = diskOutbox({ directory });
  const { queued, dead } = reopened.counts();
  await reopened.close();
  return { queued, dead: dead.rejected };
}

describe("an outbox on disk", () => {
  let directory: string;

  testStorage({
    storage: "disk",
    here: () => [directory],
    create() {
      directory = scratchDirectory();
      return diskOutbox({ directory, leaseMs: 1_000 });
    },
  });
});

describe("status", () => {
  it("says how many wait and since when, and how many were given up and why", async () => {
    const old = { ...sample("payment"), createdAt: Date.now() - 3 * HOUR_MS };
    const directory = await directoryWith({ waiting: [old, sample("click")], dead: [sample("payment")] });

    const { code, out } = await outbox([directory, "status"]);
    expect(code).toBe(0);
    expect(out.split("\n")).toEqual([
      `note    2 events queued, the oldest since ${new Date(old.createdAt).toISOString()}: read the log of the host's own process`,
      `ok      2 events for client id ${DESTINATION}`,
      "note    1 dead letter: 1 rejected",
    ]);
    expect(Math.floor((await jsonOf([directory, "status"])).json.oldestMs / HOUR_MS)).toBe(3);
  });

  it("says that a file was damaged and set aside", async () => {
    const directory = scratchDirectory();
    writeFileSync(join(directory, "outbox.db"), "no database".repeat(1_000));
    await found(directory);

    const { code, out } = await outbox([directory, "status"]);
    expect(code).toBe(1);
    expect(out).toMatch(
      /^WRONG {3}a file was damaged, and the events in it are not sent: outbox\.db\.damaged-/m,
    );
    const json = { trouble: expect.stringContaining(".damaged-") };
    expect(await jsonOf([directory, "status"])).toMatchObject({ code: 1, json });
  });

  it("says what it could not read of a killed process's spool, which it removes", async () => {
    const directory = await directoryWith();
    const spool = join(directory, "outbox.db-spool-gone.1");
    writeFileSync(spool, "nonsense\n", { mode: 0o600 });
    const told = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => told.mockRestore());

    await outbox([directory, "status"]);
    expect(existsSync(spool)).toBe(false);
    expect(told.mock.calls).toEqual([[expect.stringContaining(" could not be read, and are not sent")]]);
  });
});

describe("list", () => {
  it("shows a dead letter with its e-mail addresses masked", async () => {
    const letter = sample("registration");
    const message = "Ann@shop.example (Ann O'Neill) is known as bob@other.example\u001b[2J, says ann";
    const verdict = { ...REJECTED, message, attempts: 2 };
    const directory = await directoryWith({ dead: [letter], verdict });

    const { code, out } = await outbox([directory, "list"]);
    expect(code).toBe(0);
    expect(out.split("\n")).toEqual([
      `${letter.id}  registration  rejected`,
      "    a***@shop.example",
      "    422 Unprocessable Entity: A***@shop.example (Ann O'Neill) is known as b***@other.example [2J, says ann",
      expect.stringMatching(/^ {4}happened 20\S+Z, given up 20\S+Z after 2 attempts, for client id 42$/),
    ]);
    const { id, createdAt, data: event } = letter;
    const whole = { ...verdict, id, kind: "registration", event, createdAt, diedAt: expect.any(Number) };
    expect((await jsonOf([directory, "list"])).json).toEqual({
      deadLetters: [{ ...whole, destination: DESTINATION }],
      more: false,
      scheduled: { count: 0, nextInMs: null },
    });
  });

  it("shows a payment's id and amount, and an affiliate, and masks an address in each", async () => {
    const [payment, click] = [sample("payment"), sample("click")];
    const dead = [
      { ...payment, data: { ...payment.data, paymentId: "ada@shop.example, 2nd" } },
      { ...click, data: { ...click.data, affiliateReference: "eve@blog.example" } },
    ] as OutboxEvent[];
    const verdict = { reason: "expired", attempts: 1 } as const;
    const directory = await directoryWith({ dead: [sample("payment"), ...dead], verdict });
    const lines = (await outbox([directory, "list"])).out.split("\n");
    expect(lines.filter((_, nth) => nth % 3 === 1)).toEqual([
      "    payment 2024-17, 19.9, a***@shop.example",
      "    payment a***@shop.example, 2nd, 19.9, a***@shop.example",
      "    affiliate e***@blog.example",
    ]);
    expect(lines.at(-1)).toMatch(/after 1 attempt, for client id 42$/);
  });
});

const copying = (run: (file: string) => void) => ({ prepare: () => ({ run }) }) as never;

it("a backup gives a copy its name once it is whole, and makes one of a name at a time", () => {
  const target = join(scratchDirectory(), "copy.db");
  const other = copying((file) => writeFileSync(file, "other"));
  const one = copying((file) => {
    writeFileSync(file, "wh");
    expect(() => copyInto(other, target)).toThrow(/EEXIST.*copy\.db\.part/);
    expect(existsSync(target)).toBe(false);
    appendFileSync(file, "ole");
  });
  expect(copyInto(one, target)).toBe(5);
  expect(() => copyInto(other, target)).toThrow(expect.objectContaining({ code: "EEXIST" }));
  expect(readFileSync(target, "utf8")).toBe("whole");
  expect(readdirSync(dirname(target))).toEqual(["copy.db"]);
});

describe("discard", () => {
  it("asks before it forgets all, unless there is nothing, and does what is answered", async () => {
    const directory = await directoryWith({ dead: [sample("payment"), sample("click")] });
    const asked: string[] = [];
    const discardAll = (answer: boolean) => {
      const ask = async (question: string) => {
        asked.push(question);
        return answer;
      };
      return outbox([directory, "discard", "--all"], { ask });
    };
    expect(await discardAll(false)).toEqual({ code: 0, out: "note    nothing was discarded", err: "" });
    expect(await found(directory)).toEqual({ queued: 0, dead: 2 });
    expect(await discardAll(true)).toMatchObject({ code: 0, out: "ok      2 dead letters discarded" });
    expect(await found(directory)).toEqual({ queued: 0, dead: 0 });
    expect(await discardAll(true)).toMatchObject({ code: 0, out: "ok      no dead letters" });
    const question = "Discard 2 dead letters? They cannot be brought back.";
    expect(asked).toEqual([question, question]);
  });

  it("leaves what died while the question stood", async () => {
    const directory = await directoryWith({ dead: [sample("click")] });
    async function ask() {
      await using stage = await Stage.open(() => diskOutbox({ directory }));
      await stage.giveUp([sample("payment")]);
      return true;
    }
    const { out } = await outbox([directory, "discard", "--all"], { ask });
    expect(out).toBe("ok      1 dead letter discarded");
    expect((await jsonOf([directory, "list"])).json.deadLetters).toMatchObject([{ kind: "payment" }]);
  });
});

test("a host can write while the command discards many", async () => {
  const directory = await directoryWith({ dead: Array.from({ length: 50 }, () => sample("click")) });
  const host = openDisk(directory);
  onTestFinished(host.close);
  const seen = new Set<number>();
  let isOver = false;
  const discarded = outbox([directory, "discard", "--all", "--yes"]).finally(() => (isOver = true));
  while (!isOver) {
    await new Promise(setImmediate);
    host.db.exec("begin immediate");
    seen.add(host.db.prepare("select count(*) as dead from events where state = 8").get().dead);
    host.db.exec("rollback");
  }
  expect((await discarded).out).toBe("ok      50 dead letters discarded");
  expect([...seen]).toEqual([50, 30, 10, 0]);
});

describe("a directory's outbox", () => {
  it("is not made if it is missing, and neither is the directory", async () => {
    const empty = scratchDirectory();
    const missing = {
      says: /^diskOutbox: there is no .*\/outbox\.db; give the directory .*#err_affiliate_disk_missing\)$/,
      code: "ERR_AFFILIATE_DISK_MISSING",
    };
    for (const directory of [empty, join(empty, "missing")]) await expectMissing([directory], missing);
    expect(readdirSync(empty)).toEqual([]);
  });

  it("is left as it is if it is damaged, or of another version", async () => {
    const directory = scratchDirectory();
    const path = join(directory, "outbox.db");
    writeFileSync(path, "no database".repeat(1_000));
    const error = { code: "ERR_AFFILIATE_DISK_DAMAGED", message: expect.stringContaining("renames it") };
    expect(await jsonOf([directory, "retry", "--all"])).toMatchObject({ code: 1, json: { error } });
    expect(readdirSync(directory)).toEqual(["outbox.db"]);
    expect(readFileSync(path, "utf8")).toBe("no database".repeat(1_000));

    writeFileSync(path, "");
    const message = expect.stringContaining("brings it up to date when it starts");
    const missing = { code: "ERR_AFFILIATE_DISK_MISSING", message };
    expect(await jsonOf([directory, "status"])).toMatchObject({ code: 1, json: { error: missing } });
    expect(readFileSync(path, "utf8")).toBe("");

    const newer = scratchDirectory();
    const disk = openDisk(newer);
    disk.db.exec("pragma user_version = 99");
    disk.close();
    const refused = { code: 1, json: { error: { code: "ERR_AFFILIATE_DISK_NEWER" } } };
    expect(await jsonOf([newer, "status"])).toMatchObject(refused);
  });

  it("knows no limit but its own: what waits makes no way for what is retried", async () => {
    const directory = scratchDirectory();
    {
      await using stage = await Stage.open(() => diskOutbox({ directory, maxBytes: 2 ** 20 }));
      await stage.giveUp([sample("payment")]);
      await stage.pause();
      await fill(stage.outbox, "payment");
      await fill(stage.outbox, "click");
    }
    const { queued } = (await jsonOf([directory, "status"])).json;

    expect(await jsonOf([directory, "retry", "--all"])).toMatchObject({ json: { retried: 0 } });
    expect((await jsonOf([directory, "status"])).json).toMatchObject({ queued });
  });
});

test("the command `outbox` keeps several client ids in one directory apart", async () => {
  const OTHER = Number.MAX_SAFE_INTEGER;
  const theirs = { ...sample("payment"), destination: OTHER };
  const directory = await directoryWith({ waiting: [sample("click"), theirs], dead: [sample("click")] });

  const { code, out } = await outbox([directory, "status"]);
  expect(code).toBe(0);
  expect(out).toContain(`ok      1 event for client id ${DESTINATION}`);
  expect(out).toContain(`ok      1 event for client id ${OTHER}`);
  expect((await jsonOf([directory, "status"])).json.byDestination).toEqual({ [DESTINATION]: 1, [OTHER]: 1 });

  const ofOther = [directory, "--client-id", String(OTHER)];
  expect((await jsonOf([...ofOther, "status"])).json).toMatchObject({
    ...{ queued: 1, byDestination: { [OTHER]: 1 }, dead: { rejected: 0 } },
  });
  expect((await jsonOf([...ofOther, "discard", "--all", "--yes"])).json.discarded).toBe(0);
  expect((await jsonOf([...ofOther, "hold"])).json.held).toBe(1);
  expect((await jsonOf([directory, "status"])).json.dead).toMatchObject({ rejected: 1, unconfirmed: 1 });
});

it("dead letters of a kind and a reason are listed, retried and discarded by themselves; unconfirmed ones only if they are named", async () => {
  const [click, payment, held] = [sample("click"), sample("payment"), sample("payment")];
  const directory = await directoryWith({ dead: [click, payment], unconfirmed: [held] });
  const idsOf = async (...flags: string[]) =>
    (await jsonOf([directory, "list", ...flags])).json.deadLetters.map(({ id }: { id: string }) => id);

  expect(await idsOf("--kind", "payment")).toEqual([payment.id, held.id]);
  expect(await idsOf("--reason", "unconfirmed")).toEqual([held.id]);
  const { out } = await outbox([directory, "retry", "--all", "--kind", "payment"]);
  expect(out).toContain("1 queued again");
  expect(out).toContain("the unconfirmed ones stay");
  const discarded = await jsonOf([directory, "discard", "--all", "--yes", "--kind", "click"]);
  expect(discarded.json).toMatchObject({ discarded: 1 });
  expect(await idsOf()).toEqual([held.id]);
  const retried = await jsonOf([directory, "retry", "--all", "--reason", "unconfirmed"]);
  expect(retried.json).toMatchObject({ retried: 1 });
});
