import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Outbox } from "express-affiliate";
import { expect, test } from "vitest";
import { openExistingFile } from "../../../../src/outbox/disk/file/file.js";
import { sample } from "../../../contract/samples.js";
import { engine, openDisk } from "../../../helpers/disk-store.js";
import { startHost } from "../../../helpers/host.js";
import { scratchDirectory } from "../../../helpers/scratch.js";
import { outboxIn } from "../../../helpers/watched-outbox.js";

const ANOTHER_USER = 65_534;
const isRoot = process.getuid?.() === 0;

const modeOf = (path: string) => statSync(path).mode & 0o777;

function open(directory: string): Outbox {
  const outbox = outboxIn(directory);
  outbox.counts();
  return outbox;
}

function expectRefusal(directory: string, words: string): void {
  const message = expect.stringContaining(words);
  expect(() => open(directory)).toThrow(
    expect.objectContaining({ code: "ERR_AFFILIATE_DISK_EXPOSED", message }),
  );
}

const FILES = ["outbox.db", "outbox.db-wal", "outbox.db-shm"];

test.each([
  ["0666", 0o666],
  ["0400", 0o400],
] as const)(
  "the disk outbox takes their rights from others, of a directory that holds nothing else, and of its files, and gives itself those that it needs: %s",
  async (_, mode) => {
    const directory = scratchDirectory();
    const before = openDisk(directory);
    await before.append(sample("payment"));
    chmodSync(directory, 0o777);
    for (const name of FILES) chmodSync(join(directory, name), mode);

    await open(directory).add(sample("payment"));

    expect(modeOf(directory)).toBe(0o700);
    for (const name of FILES) expect(modeOf(join(directory, name))).toBe(0o600);
    before.close();
  },
);

test("the disk outbox leaves a directory as it is that holds other things, if others cannot write", async () => {
  const directory = scratchDirectory();
  mkdirSync(join(directory, "mine"));
  chmodSync(directory, 0o755);

  await open(directory).add(sample("payment"));

  expect(modeOf(directory)).toBe(0o755);
  expect(modeOf(join(directory, "outbox.db"))).toBe(0o600);
});

test("the disk outbox refuses a directory of other things if others can write, and takes a new one in it", async () => {
  const directory = scratchDirectory();
  mkdirSync(join(directory, "mine"));
  chmodSync(directory, 0o777);

  expectRefusal(directory, `${directory} (its mode is 0777)`);
  expect(modeOf(directory)).toBe(0o777);
  expect(await open(join(directory, "affiliate")).add(sample("payment"))).toBe("queued");
});

test.skipIf(!isRoot)("the disk outbox refuses a directory and a file of another user's", () => {
  const [directory, another] = [scratchDirectory(), scratchDirectory()];
  chownSync(directory, ANOTHER_USER, ANOTHER_USER);
  openDisk(another).close();
  chownSync(join(another, "outbox.db"), ANOTHER_USER, ANOTHER_USER);

  expectRefusal(directory, `${directory} belongs to another user (uid ${ANOTHER_USER})`);
  expectRefusal(another, `outbox.db is another user's (uid ${ANOTHER_USER})`);
});

test.each(FILES)("the disk outbox follows no symbolic link in place of %s", (name) => {
  const directory = scratchDirectory();
  const target = join(scratchDirectory(), "target");
  writeFileSync(target, "not to be touched");
  chmodSync(target, 0o644);
  // If there is no file, a log of one is removed.
  if (name !== "outbox.db") writeFileSync(join(directory, "outbox.db"), "");
  symlinkSync(target, join(directory, name));

  expectRefusal(directory, `${join(directory, name)} is a symbolic link`);
  const openExisting = () => openExistingFile(join(directory, "outbox.db"), { engine, maxBytes: 2 ** 20 });
  expect(openExisting).toThrow(/is a symbolic link/);
  expect(readFileSync(target, "utf8")).toBe("not to be touched");
  expect(modeOf(target)).toBe(0o644);
});

test("the disk outbox follows a symbolic link to its directory, and above it, and makes what is missing for this user alone", async () => {
  const target = scratchDirectory();
  const link = join(scratchDirectory(), "link");
  symlinkSync(target, link);

  expect(await open(link).add(sample("payment"))).toBe("queued");
  expect(await open(join(link, "deeper", "still")).add(sample("payment"))).toBe("queued");
  const made = ["deeper", "deeper/still", ...FILES.map((name) => `deeper/still/${name}`)];
  for (const name of made) expect(modeOf(join(target, name)) & 0o077).toBe(0);
});

test("the disk outbox says at the start that no directory can be made in /proc, names it, and leaves no thread behind", async () => {
  const { ended } = startHost(`
    try { diskOutbox({ directory: "/proc/nowhere/at/all" }).counts() } catch ({ code, message }) { say(code + " " + message) }
  `);

  const { code, said } = await ended;

  expect(said[0]).toMatch(/^ERR_AFFILIATE_DISK_UNUSABLE .*\/proc\/nowhere/);
  expect(code).toBe(0);
});
