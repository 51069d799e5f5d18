import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";

/** Runs `anywhere.js`, or what was made of it, with a command; each fact that it prints counts as one. */
export async function showsFacts(command, ...args) {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 240_000,
    killSignal: "SIGKILL",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const [code] = await once(child, "close");
  for (const [, fact] of output.matchAll(/^fact: (.+)$/gm)) test(fact, () => {});
  test("it ends by itself", () => {
    assert.equal(code, 0, output);
    assert.match(output, /^ended$/m);
  });
}
