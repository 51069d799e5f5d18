import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

/** Runs `anywhere.js`, or what was made of it, with a command; each fact that it prints counts as one. */
export function showsFacts(command, ...args) {
  const options = { encoding: "utf8", timeout: 240_000, killSignal: "SIGKILL" };
  const { status, stdout, stderr } = spawnSync(command, args, options);
  const output = stdout + stderr;
  for (const [, fact] of output.matchAll(/^fact: (.+)$/gm)) test(fact, () => {});
  test("it ends by itself", () => {
    assert.equal(status, 0, output);
    assert.match(output, /^ended$/m);
  });
}
