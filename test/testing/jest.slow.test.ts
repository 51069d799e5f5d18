import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { scratchDirectory } from "../helpers/scratch.js";
import { startService } from "../helpers/service.js";
import { outputOf, runNode, userProject } from "../helpers/user-project.js";

const FORGETS = `
const { affiliate } = require("express-affiliate");
const { diskOutbox } = require("express-affiliate/disk");

test("reports a payment, and forgets to close the tracker", async () => {
  const { SERVICE: baseUrl, DIRECTORY: directory } = process.env;
  const tracker = affiliate({ baseUrl, clientId: 42, ...(directory && { outbox: diskOutbox({ directory }) }) });
  await tracker.trackPayment({ paymentId: "1", customerEmail: "ada@shop.example", leadValue: 1 }, { sessionId: "s1" });
});
`;

async function runJest(flags: readonly string[], env: Record<string, string>) {
  const files = {
    "forgets.jest.js": FORGETS,
    "package.json": '{ "jest": { "testMatch": ["**/*.jest.js"] } }',
  };
  const project = await userProject(files, ["jest"]);
  const { code, stderr } = await outputOf(
    runNode(project, ["node_modules/jest/bin/jest.js", ...flags], { env: { ...process.env, ...env } }),
  );
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("1 passed") });
  return stderr;
}

describe("a tracker that a test in Jest has forgotten to close", () => {
  it.each([[[]], [["--detectOpenHandles"]]])(
    "changes no exit code, and is no open handle: jest %j",
    async (flags) => {
      // The answer makes a log line, after the test file has ended.
      const { url } = await startService((_request, res) => {
        setTimeout(() => res.writeHead(422).end('{ "error": "Unprocessable Entity", "message": "no" }'), 200);
      });
      expect(await runJest(flags, { SERVICE: url })).not.toMatch(/torn down|Cannot log|open handle/);
    },
  );

  it("has its disk outbox closed by the end of the process, whose thread would be torn out of SQLite otherwise", async () => {
    const { url } = await startService();
    const directory = scratchDirectory();
    await runJest([], { SERVICE: url, DIRECTORY: directory });
    // SQLite removes its log when the file is closed. The lock may stay: an attempt may be under way.
    const files = await readdir(directory);
    expect(files).toContain("outbox.db");
    expect(files.filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
  });
});
