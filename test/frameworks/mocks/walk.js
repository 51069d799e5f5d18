import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

const answers = (library, use) =>
  execFileSync(process.execPath, ["app.mjs", library, use], { encoding: "utf8", timeout: 30_000 }).trim();

// What nock and MSW are made of needs Node 22.
const needs22 =
  "withResolvers" in Promise
    ? [
        ["nock", "the mock"],
        ["msw", "the service"],
      ]
    : [];

for (const [library, who] of [...needs22, ["undici", "the service"]]) {
  test(`${library}'s mock: a payment is answered by ${who}`, () => {
    assert.equal(answers(library, "mock"), who);
  });
  test(`with ${library} loaded, a payment waits if the service is down`, () => {
    assert.equal(answers(library, "down"), "waits");
  });
}
