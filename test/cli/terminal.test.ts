import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { askThrough, type Terminal, wrapText } from "../../src/cli/terminal.js";

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

describe("wrapped", () => {
  const terminal = (columns: number): Terminal => ({
    stdout: () => {},
    stderr: () => {},
    env: {},
    isTerminal: true,
    columns,
  });

  it("breaks lines between words alone, loses none, and keeps to the width if words allow it", () => {
    const words = fc.array(fc.stringMatching(/^\S{1,30}$/), { minLength: 1 });
    fc.assert(
      fc.property(
        words,
        fc.integer({ min: 20, max: 120 }),
        fc.integer({ min: 0, max: 10 }),
        (list, columns, indent) => {
          const lines = wrapText(list.join(" "), indent, terminal(columns)).split("\n");
          expect(lines.flatMap((line) => line.trim().split(" "))).toEqual(list);
          for (const [index, line] of lines.entries()) {
            const width = (index === 0 ? indent : 0) + line.length;
            expect(width <= columns || !line.trim().includes(" ")).toBe(true);
          }
        },
      ),
    );
  });

  it("leaves a text alone that goes into a file", () => {
    const long = "word ".repeat(100);
    expect(wrapText(long, 8, { ...terminal(80), isTerminal: false })).toBe(long);
  });
});
