import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { askThrough } from "../../src/cli/terminal.js";

it.each([
  ["y\n", true],
  ["YES\n", true],
  [" yes \n", true],
  ["\n", false],
  ["n\n", false],
  ["yesterday\n", false],
  ["", false],
])("askThrough takes %j for %j", async (typed, answer) => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  input.end(typed);
  expect(await askThrough(input, output, "Go on?")).toBe(answer);
  output.end();
  expect(await text(output)).toContain("Go on? [y/N] ");
});

it.each(["\u0003", "\u0004"])("askThrough takes %j for no, as a person presses it", async (key) => {
  const [input, output] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY: true })];
  input.write(key);
  expect(await askThrough(input, output, "Go on?")).toBe(false);
});
