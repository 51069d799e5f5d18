import { spawn } from "node:child_process";
import { join } from "node:path";
import { memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { testOutbox } from "express-affiliate/outbox";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { type Disk, openDisk } from "../helpers/disk-store.js";
import { testLastingUrgency } from "../helpers/lasting-urgency.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { outputOf } from "../helpers/user-project.js";

testOutbox(
  "memoryOutbox",
  {
    create: () => memoryOutbox(),
    createSmall: () => memoryOutbox({ maxEvents: 1_000, maxBytes: 200_000, maxDeadLetters: 10 }),
    maxDeadLetters: 10,
    maxDeadLetterBytes: 100_000,
    schedules: true,
    findsPersons: true,
  },
  { describe, it },
);

let directory: string;
let locking: Disk;
const fresh = () => {
  directory = scratchDirectory();
  return directory;
};

testOutbox(
  "diskOutbox",
  {
    create: () => diskOutbox({ directory: fresh() }),
    createSmall: () => diskOutbox({ directory: fresh(), maxBytes: 1024 * 1024, maxDeadLetters: 10 }),
    maxDeadLetters: 10,
    maxDeadLetterBytes: 350_000,
    reopen: () => diskOutbox({ directory }),
    hasCircuits: true,
    schedules: true,
    findsPersons: true,
    cutOff() {
      locking = openDisk(directory);
      locking.db.exec("begin exclusive");
    },
    restore() {
      locking.db.exec("commit");
      locking.close();
    },
  },
  { describe, it },
);

describe("memoryOutbox", () => testLastingUrgency(() => memoryOutbox({ maxEvents: 100 })));
describe("diskOutbox", () =>
  testLastingUrgency(() => diskOutbox({ directory: fresh(), maxBytes: 1024 * 1024 })));

describe("testOutbox", () => {
  const run = (script: string) => {
    const required = (name: string) => JSON.stringify(join(inject("builtPackage"), `dist/${name}.cjs`));
    const preamble = `
      const { describe, it } = require("node:test");
      const { memoryOutbox } = require(${required("index")});
      const { testOutbox } = require(${required("outbox")});
    `;
    return spawn(process.execPath, ["--test-reporter=tap", "-e", preamble + script], { stdio: "pipe" });
  };

  it("runs in node:test", async () => {
    const { code, stdout } = await outputOf(
      run('testOutbox("memory", { create: () => memoryOutbox() }, { describe, it });'),
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/# fail 0/);
  });

  it("runs with the globals that jest has, and fails if a promise is broken", async () => {
    const child = run(`
      Object.assign(globalThis, { describe, it });
      const forgetful = () => ({ ...memoryOutbox(), add: async () => "queued" });
      testOutbox("forgetful", { create: forgetful });
    `);
    onTestFinished(() => void child.kill("SIGKILL"));
    // Others of its tests wait for what never comes, and are not waited for.
    let said = "";
    for await (const chunk of child.stdout) {
      said += chunk;
      if (/not ok .* stores an event once/.test(said)) break;
    }
    expect(said).toMatch(/not ok .* stores an event once/);
  });
});
