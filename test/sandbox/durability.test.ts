import { once } from "node:events";
import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rmdir,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Sandbox } from "express-affiliate/sandbox";
import { expect, test } from "vitest";
import { openJournal } from "../../src/sandbox/ledger/journal.js";
import { openLedger } from "../../src/sandbox/ledger/ledger.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { runNode, userProject } from "../helpers/user-project.js";
import { sendClick, sendPayment, sendRegistration, startSandbox } from "./helpers.js";

const temporaryFile = (name = "ledger.db") => join(scratchDirectory(), name);

/** Runs a sandbox on `file` in a process of its own, which prints its address. */
async function runProcess(
  file: string,
  stderr: "inherit" | "ignore" = "inherit",
  platform = process.platform,
) {
  const code = `
    Object.defineProperty(process, "platform", { value: ${JSON.stringify(platform)} });
    import { createSandbox } from "express-affiliate/sandbox";
    const { url } = await createSandbox({ file: process.argv[2] });
    console.log(url);
  `;
  const project = await userProject({ "sandbox.mjs": code });
  return runNode(project, ["sandbox.mjs", file], { stdio: ["ignore", "pipe", stderr] });
}

async function startProcess(file: string, platform?: NodeJS.Platform) {
  const child = await runProcess(file, "inherit", platform);
  const [url] = await once(createInterface(child.stdout as NodeJS.ReadableStream), "line");
  return { child, sandbox: { url } as Sandbox };
}

const modesIn = async (folder: string) => {
  const names = (await readdir(folder)).sort();
  const modes = names.map(async (name) => [name, (await stat(join(folder, name))).mode & 0o777]);
  return Object.fromEntries(await Promise.all(modes));
};

test("its one file is the user's alone, also if others could read it before", async () => {
  const file = temporaryFile();
  for (const clicks of [0, 1]) {
    const sandbox = await startSandbox({ file });
    expect(sandbox.ledger.clicks()).toHaveLength(clicks);
    await sendClick(sandbox);
    await sandbox.close();
    expect(await modesIn(dirname(file))).toEqual({ "ledger.db": 0o600 });
    await chmod(file, 0o644);
  }
});

test("what was answered is there after kill -9, and so are the answers to an Idempotency-Key", async () => {
  const file = temporaryFile();
  const { child, sandbox: first } = await startProcess(file);
  await sendClick(first);
  await sendRegistration(first);
  for (let order = 1; order <= 50; order += 1) {
    const paid = await sendPayment(first, { leadValue: order }, { "idempotency-key": `${order}` });
    expect(paid.status).toBe(201);
  }
  child.kill("SIGKILL");
  await once(child, "exit");

  const second = await startSandbox({ file });
  const { ledger } = second;
  expect(ledger.clicks()).toMatchObject([{ id: 1, affiliateReference: "ALICE" }]);
  expect(ledger.registrations()).toMatchObject([{ id: 1, linkedClick: 1 }]);
  expect(ledger.payments({ affiliateReference: "ALICE" }).map((paid) => paid.leadValue)).toEqual(
    Array.from({ length: 50 }, (_, index) => index + 1),
  );
  expect(ledger.requests()).toHaveLength(52);
  const again = await sendPayment(second, { leadValue: 50 }, { "idempotency-key": "50" });
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(ledger.payments()).toHaveLength(50);
});

test("two sandboxes on one file: the second says so, by any name, in this process and from another", async () => {
  const file = temporaryFile();
  const link = `${file}-link`;
  await symlink(file, link);
  const refused = (name: string) =>
    expect(startSandbox({ file: name })).rejects.toThrow(`sandbox: ${name} is in use by another sandbox`);
  const { child } = await startProcess(file);
  await refused(file);
  child.kill("SIGKILL");
  await once(child, "exit");

  const holder = await startSandbox({ file });
  for (const name of [file, link]) await refused(name);
  expect(await once(await runProcess(file, "ignore"), "exit")).toEqual([1, null]);
  expect(await sendClick(holder)).toMatchObject({ status: 201 });
});

test("a sandbox that was killed on macOS, where its lock stays in a file, starts again, and once", async () => {
  const file = temporaryFile();
  const { child } = await startProcess(file, "darwin");
  expect(await once(await runProcess(file, "ignore", "darwin"), "exit")).toEqual([1, null]);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await readdir(dirname(file))).toEqual(["ledger.db"]);
  await startProcess(file, "darwin");
  expect(await once(await runProcess(file, "ignore", "darwin"), "exit")).toEqual([1, null]);
});

test("the sandbox leaves alone a file that is something else", async () => {
  const text = temporaryFile("notes.txt");
  await writeFile(text, "these are notes, and no ledger ".repeat(100));
  await chmod(text, 0o644);
  const before = await readFile(text);
  await expect(startSandbox({ file: text })).rejects.toThrow(`sandbox: ${text} is not a sandbox's ledger`);
  expect(await readFile(text)).toEqual(before);
  expect(await modesIn(dirname(text))).toEqual({ "notes.txt": 0o644 });
});

test("what was recorded before a line that was cut, and after it, is there", async () => {
  const file = temporaryFile();
  const ledger = openLedger(await openJournal(file));
  ledger.addClick({ affiliateReference: "ALICE" });
  ledger.save();
  await appendFile(file, '\n[{"kind":"click","id":2,"affiliateReference":"EVE"},{"kind":"answ');
  ledger.addClick({ affiliateReference: "BOB" });
  ledger.save();
  ledger.close();
  const again = openLedger(await openJournal(file));
  expect(again.clicks().map(({ affiliateReference }) => affiliateReference)).toEqual(["ALICE", "BOB"]);
  again.close();
});

test("the file has no more requests than the ledger, however many there were, and ids go on", async () => {
  const file = temporaryFile();
  const ledger = openLedger(await openJournal(file));
  ledger.addClick({ affiliateReference: "ALICE" });
  ledger.save();
  for (let nth = 1; nth <= 10_003; nth++) ledger.addRequest({ path: "/" } as never);
  ledger.close();
  expect((await readFile(file, "utf8")).split("\n").length).toBeLessThan(5_010);
  const again = openLedger(await openJournal(file));
  again.addRequest({ path: "/" } as never);
  expect(again.requests().map(({ id }) => id)).toEqual(
    Array.from({ length: 5_000 }, (_, nth) => nth + 5_005),
  );
  expect(again.clicks()).toHaveLength(1);
  again.close();
});

test("what the file does not take is not recorded, and is recorded when it is sent again", async () => {
  const file = temporaryFile();
  const sandbox = await startSandbox({ file });
  await rename(file, `${file}-kept`);
  await mkdir(file);
  const send = () => sendPayment(sandbox, {}, { "idempotency-key": "k" });
  expect((await send()).body.message).toContain(`sandbox: ${file} EISDIR`);
  expect(sandbox.ledger.payments()).toEqual([]);
  await rmdir(file);
  await rename(`${file}-kept`, file);
  expect((await send()).headers.get("idempotent-replayed")).toBeNull();
  expect(sandbox.ledger.payments()).toMatchObject([{ id: 1 }]);
});

test("a folder that takes no new file is told at the start, and the file is left for the next sandbox", async () => {
  const file = temporaryFile();
  await mkdir(`${file}.new`);
  await expect(startSandbox({ file })).rejects.toThrow(`sandbox: ${file} `);
  await rmdir(`${file}.new`);
  await startSandbox({ file });
});

test("a sandbox that has ended leaves the file to the next one, also if it is cleared", async () => {
  const file = temporaryFile();
  const first = await startSandbox({ file });
  await first.close();
  const second = await startSandbox({ file });
  await sendClick(second);
  first.ledger.clear();
  await second.close();
  expect((await startSandbox({ file })).ledger.clicks()).toHaveLength(1);
});
