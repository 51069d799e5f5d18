import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const page = readFileSync("node_modules/express-affiliate/docs/testing.md", "utf8");

const answers = (library, use) =>
  execFileSync(process.execPath, ["app.mjs", library, use], { encoding: "utf8", timeout: 30_000 }).trim();

// What nock and MSW are made of needs Node 22.
const runs = "withResolvers" in Promise ? ["nock", "msw", "undici"] : ["undici"];

for (const library of runs) {
  const [, says] = new RegExp(`^\\| ${library}\\b[^|]*\\| (yes|no)\\b`, "im").exec(page) ?? [];
  test(`the page says of ${library}'s mocks "${says}"`, () => {
    assert.equal(answers(library, "mock"), { yes: "the mock", no: "the service" }[says]);
  });
  test(`with ${library} loaded, a payment waits if the service is down`, () => {
    assert.equal(answers(library, "down"), "waits");
  });
}
