import { cpSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { diskOutbox } from "express-affiliate/disk";
import { beforeEach, describe, expect, test } from "vitest";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { outputOf, runNode, userProject } from "../../helpers/user-project.js";
import { directoryWith, jsonOf, outbox } from "./helpers.js";
import { testRestore } from "./restore.js";

const CLI = "node_modules/express-affiliate/dist/cli.cjs";

describe("a disk outbox that is restored", () => {
  let directory: string;
  beforeEach(() => {
    directory = scratchDirectory();
  });

  testRestore({
    open: (options) => diskOutbox({ directory, ...options }),
    where: () => [directory],
    async backUp() {
      const file = join(scratchDirectory(), "copy.db");
      const project = await userProject({});
      // Another process, as the docs say.
      const args = [CLI, "outbox", directory, "backup", file, "--json"];
      const { code, stdout } = await outputOf(runNode(project, args));
      const { size: bytes, mode } = statSync(file);
      expect([code, JSON.parse(stdout), mode & 0o777]).toEqual([0, { file, bytes }, 0o600]);
      return () => {
        for (const name of readdirSync(directory)) rmSync(join(directory, name));
        cpSync(file, join(directory, "outbox.db"));
      };
    },
  });
});

describe("backup", () => {
  test("overwrites no file, and leaves none behind if it fails", async () => {
    const from = await directoryWith();
    const there = join(scratchDirectory(), "there");
    writeFileSync(there, "precious");
    const failing = (code: string) => ({ code: 1, err: expect.stringContaining(code) });
    expect(await outbox([from, "backup", there])).toMatchObject(failing("EEXIST"));
    const nowhere = join(scratchDirectory(), "missing", "copy.db");
    expect(await outbox([from, "backup", nowhere])).toMatchObject(failing("ENOENT"));
    expect(existsSync(nowhere)).toBe(false);
  });

  test("is for a directory", async () => {
    expect(await outbox(["postgres://shop@127.0.0.1:1/shop", "backup", "copy.db"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("the database's own tools"),
    });
    expect(await outbox([scratchDirectory(), "backup"])).toMatchObject({ code: 2 });
  });
});

describe("hold", () => {
  test("holds payments alone, and lets what waits behind them go", async () => {
    const visitor = { sessionId: "ann" };
    const [click, payment] = [sample("click"), sample("payment", visitor)];
    const later = sample("registration", visitor);
    const directory = await directoryWith({ waiting: [click, payment, later] });

    expect(await outbox([directory, "hold"])).toEqual({
      code: 0,
      out: "ok      1 payment held: look them up in the service, then retry or discard each",
      err: "",
    });
    expect(await jsonOf([directory, "hold"])).toEqual({ code: 0, json: { held: 0 } });

    await using stage = await Stage.open(() => diskOutbox({ directory }));
    stage.start();
    expect(await stage.delivery.deliverNext()).toBe(later.id);
    expect(await stage.delivery.deliverNext()).toBe(click.id);
    await stage.empty();
    const [letter] = await stage.outbox.deadLetters.list();
    expect(letter).toMatchObject({ id: payment.id, reason: "unconfirmed", code: "ERR_HELD", attempts: 0 });
    expect(await stage.outbox.deadLetters.retry(payment.id)).toBe(true);
    expect((await stage.delivery.next()).live.history.maybeTaken).toBe(true);
  });

  test("refuses while a host's process uses the directory, and holds nothing", async () => {
    const directory = scratchDirectory();
    await using stage = await Stage.open(() => diskOutbox({ directory }));
    stage.hold();
    await stage.add(sample("payment"));
    expect(await outbox([directory, "hold"])).toEqual({
      code: 1,
      out: "",
      err: "outbox: a process of the host uses it, and nothing was held: stop all of them first (docs/errors.md#err_affiliate_outbox_running)",
    });
    expect(stage.outbox.counts().queued).toBe(1);
  });
});
