import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { figuresIn, figuresPage, PAGES, readResults, withFigures } from "../../bench/figures.js";
import { proseOf, textOf } from "../helpers/docs/pages.js";

const results = readResults();

describe("figures", () => {
  it("are those of the last results", () => {
    expect(textOf("bench/results/figures.md")).toBe(figuresPage(results));
  });

  it.each(PAGES)("stand in %s as they were measured last", (page) => {
    expect(withFigures(textOf(page), results)).toBe(textOf(page));
  });

  it("all stand on a page, or have an aim", () => {
    const shown = PAGES.flatMap((page) => [...textOf(page).matchAll(/figures\.md#([\w-]+)/g)]);
    const names = shown.map(([, name]) => name);
    expect(figuresIn(results).filter(({ name, aim }) => aim === "" && !names.includes(name))).toEqual([]);
  });

  it("have a name that the results know", () => {
    const page = (name: string) => `takes [1 µs](results/figures.md#${name})`;
    expect(withFigures(page("request-memory"), results)).toMatch(/^takes \[\d+ µs\]\(/);
    expect(() => withFigures(page("request-nothing"), results)).toThrow(
      "there is no figure `request-nothing`",
    );
  });
});

it("the results are of the sections that are measured, and of no others", () => {
  const code = readdirSync("bench/sections").map((file) => textOf(`bench/sections/${file}`));
  const measured = code.flatMap((text) => [...text.matchAll(/(?:\.section\(\s*|title: )"([^"]+)"/g)]);
  const shown = [...results.matchAll(/^## (.+)$/gm)];
  expect(new Set(shown.map(([, title]) => title))).toEqual(new Set(measured.map(([, title]) => title)));
});

it("aims that are not reached say so", () => {
  const [figure] = figuresIn(results);
  expect(figure).toMatchObject({ aim: "at least 98 %", reached: "yes" });
  const [missed] = figuresIn(results.replace(/(?<=^\| in 20 ms \| memory .*?\| +)\d\.\d\d(?= \|)/m, "0.97"));
  expect(missed).toMatchObject({ figure: "97 %", reached: "not reached" });
});

/** Numbers that look measured and are not, each with the place that decides it. */
const DECIDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "README.md": { "0.4 MB": ".ci/package", "4 MB": ".ci/package" },
  "docs/delivery.md": {
    "3.5 times": "src/delivery",
    "2 requests a second": "test/delivery/promises",
    "200 a second": "test/delivery/promises",
  },
  "docs/options.md": { "16 bytes": "src/options.ts" },
  "docs/sizing.md": {
    "80 events a second": "8 sockets, 100 ms",
    "60 a second": "its three quarters",
    "10 events a second": "an example",
  },
};

/** Times, sizes of what is decided (MiB) and what is generated apart. */
const LOOKS_MEASURED =
  /\d[\d,.]*(?: to \d[\d,.]*)?(?: (?:µs|bytes|[kKMG]B|%)(?!\w)| (?:\w+ )?a second\b| times\b)|(?<![\d.])0\.\d+(?: s\b| of\b)/g;

function unmarkedIn(prose: string): string[] {
  const handWritten = prose
    .replaceAll(/<!-- begin: [\s\S]*?<!-- end: /g, "")
    .replaceAll(/\[[^\][]*\]\([^()\s]*figures\.md#[\w-]+\)/g, "")
    .replaceAll(/`+[^`]*`+/g, "");
  return [...handWritten.matchAll(LOOKS_MEASURED)].map(([text]) => text);
}

describe("a number that looks measured", () => {
  it.each(PAGES)("is a figure, or was decided: %s", (page) => {
    expect([...new Set(unmarkedIn(proseOf(page)))].sort()).toEqual(Object.keys(DECIDED[page] ?? {}).sort());
  });

  it("is seen", () => {
    const page =
      "`9 µs` [11 µs](figures.md#request-memory), 12 µs, 500 to 790 bytes, 0.2 s, 30 MB, 80 events a second, 64 MiB, 93 %";
    const seen = ["12 µs", "500 to 790 bytes", "0.2 s", "30 MB", "80 events a second", "93 %"];
    expect(unmarkedIn(page)).toEqual(seen);
  });
});
