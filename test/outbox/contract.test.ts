import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { diskOutbox } from "../../src/outbox/disk.js";
import { memoryOutbox } from "../../src/outbox/memory.js";
import { testOutbox } from "../../src/testing/index.js";
import { scratchDirectory } from "../helpers/scratch.js";

testOutbox(
  "memoryOutbox",
  { create: () => memoryOutbox(), createSmall: () => memoryOutbox({ maxEvents: 100 }) },
  { describe, it },
);

let directory: string;
const fresh = () => {
  directory = scratchDirectory();
  return directory;
};

testOutbox(
  "diskOutbox",
  {
    create: () => diskOutbox({ directory: fresh() }),
    createSmall: () => diskOutbox({ directory: fresh(), maxBytes: 1024 * 1024 }),
    reopen: () => diskOutbox({ directory }),
  },
  { describe, it },
);

describe("testOutbox", () => {
  const run = (script: string) => {
    const required = (name: string) => JSON.stringify(join(inject("builtPackage"), `dist/${name}.cjs`));
    const preamble = `
      const { describe, it } = require("node:test");
      const { memoryOutbox } = require(${required("index")});
      const { testOutbox } = require(${required("testing")});
    `;
    const { status, stdout } = spawnSync(process.execPath, ["-e", preamble + script], { encoding: "utf8" });
    return { status, stdout };
  };

  it("runs in node:test", () => {
    const { status, stdout } = run(
      'testOutbox("memory", { create: () => memoryOutbox() }, { describe, it });',
    );
    expect(status).toBe(0);
    expect(stdout).toMatch(/# fail 0/);
  });

  it("runs with the globals that jest has, and fails where a promise is broken", () => {
    const { status, stdout } = run(`
      Object.assign(globalThis, { describe, it });
      const forgetful = () => ({ ...memoryOutbox(), add: async () => "queued" });
      testOutbox("forgetful", { create: forgetful });
      setTimeout(() => process.exit(1), 1000);
    `);
    expect(status).toBe(1);
    expect(stdout).toMatch(/not ok .* stores an event once/);
  });
});
