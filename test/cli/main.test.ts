import { once } from "node:events";
import { openSync } from "node:fs";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { doctorCommand } from "../../src/cli/doctor/command.js";
import { outboxCommand } from "../../src/cli/outbox/command.js";
import { textOf } from "../helpers/docs/pages.js";
import { forAnyAsync } from "../helpers/for-any.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { outputOf } from "../helpers/user-project.js";
import { runCommand, startCli } from "./helpers.js";

describe("the command line", () => {
  const cli = async (...args: string[]) => outputOf(await startCli(args));

  it("prints its version, its help, and without a command its help as an error", async () => {
    for (const flag of ["--version", "-v"])
      expect(await cli(flag)).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: "" });
    const usage = expect.stringMatching(/^Usage: express-affiliate <command>/);
    expect(await cli("--help")).toEqual({ code: 0, stdout: usage, stderr: "" });
    expect(await cli()).toEqual({ code: 2, stdout: "", stderr: usage });
  });

  it.each([
    ["docter", "express-affiliate: there is no command docter; did you mean doctor?", "--help lists all"],
    ["sandbox --prot 1", "sandbox: there is no option --prot; did you mean --port?", "sandbox --help"],
    ["outbox here lst", "; did you mean list?", "outbox --help"],
  ])("answers %j with the nearest right word, and the help", async (words, message, help) => {
    const { code, stdout, stderr } = await cli(...words.split(" "));
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`${message}\n`);
    expect(stderr).toContain(help);
  });

  it.each([
    ["doctor", doctorCommand, "--base-url --client-id --session --api-key-env --help -h"],
    [
      "outbox",
      outboxCommand,
      `${scratchDirectory()} status list retry --all --json --limit --url-env --help`,
    ],
  ])("takes any arguments of %s without failing", async (_, command, known) => {
    const word = fc.oneof(fc.string(), fc.constantFrom(...known.split(" ")));
    await forAnyAsync(fc.array(word, { maxLength: 5 }), async (args) => {
      expect([0, 1, 2]).toContain((await runCommand(command, args)).code);
    });
  });

  it("fails if what it prints cannot be written, unless its reader has enough", async () => {
    const full = await startCli(["migrations"], { stdio: ["ignore", openSync("/dev/full", "w"), "pipe"] });
    const said = text(full.stderr as Readable);
    expect(await once(full, "close")).toEqual([1, null]);
    expect(await said).toMatch(/^express-affiliate: ENOSPC: no space left on device.*\n$/);

    const unread = await startCli(["migrations"]);
    unread.stdout?.destroy();
    const quiet = text(unread.stderr as Readable);
    expect(await once(unread, "close")).toEqual([0, null]);
    expect(await quiet).toBe("");
  });

  it.each(["sandbox", "doctor", "outbox", "migrations"])(
    "has in the help of %s what its guide says, the exit codes, and 80 columns at most",
    async (command) => {
      const { code, stdout } = await cli(command, "--help");
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage: express-affiliate ${command} `);
      expect(stdout).toContain("Exit code: 0");
      for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
      const [, rest = ""] = textOf("docs/cli.md").split(`\n## ${command}\n`);
      const [section = ""] = rest.split("\n## ");
      const named = section.match(/--[a-z-]+/g) ?? [];
      if (/doctor|outbox/.test(command)) expect(named).toContain("--json");
      for (const option of named) expect(stdout).toContain(option);
    },
  );
});
