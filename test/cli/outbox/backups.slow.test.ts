import { cpSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { diskOutbox } from "express-affiliate/disk";
import { beforeEach, describe, expect, test } from "vitest";
import { scratchDirectory } from "../../helpers/scratch.js";
import { outputOf } from "../../helpers/user-project.js";
import { startCli } from "../helpers.js";
import { directoryWith, outbox } from "./helpers.js";
import { testRestore } from "./restore.js";

describe("a disk outbox that is restored", () => {
  let directory: string;
  beforeEach(() => {
    directory = scratchDirectory();
  });

  testRestore({
    open: (options) => diskOutbox({ directory, ...options }),
    where: () => [directory],
    refuses:
      /^outbox: a process of the host uses it, and nothing was held: stop all of them first \(docs\/errors\.md#err_affiliate_outbox_running\)$/,
    async backUp() {
      const file = join(scratchDirectory(), "copy.db");
      // Another process, as the docs say.
      const { code, stdout } = await outputOf(
        await startCli(["outbox", directory, "backup", file, "--json"]),
      );
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
