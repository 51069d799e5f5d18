/**
 * `npm run proof suites -- FOLDER …`
 *
 * The tests of other people's middleware, with a tracker in front of each request and with nothing:
 * each FOLDER is a checkout of a package that tests itself with Mocha, such as Express. Runs both,
 * and compares them test by test. What tests see of the tracker is its `Cache-Control`; its cookies
 * are taken away first. Prints how many tests passed each time, and which differ. Exits with 1 if
 * one differs that says nothing of `Cache-Control`.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { commandLine } from "./shared/options.js";
import { npmFlags } from "./shared/packed.js";
import { runCommand } from "./shared/program.js";
import { columns } from "./shared/run-parts.js";

const { words } = commandLine({});
const PRELOAD = new URL("suites/preload.js", import.meta.url).href;
const WITHIN_MS = 300_000;

interface Ran {
  /** How each test ended, by its title and its number among those of this title. */
  readonly tests: ReadonlyMap<string, { readonly passed: boolean; readonly why: string }>;
}

const rows = [["", "tests", "passed", "with a tracker", "differ", "by Cache-Control"]];
let isRight = words.length > 0;
for (const folder of words) {
  const place = resolve(folder);
  const install = ["npm", "install", "--ignore-scripts", ...npmFlags];
  if (!existsSync(join(place, "node_modules"))) await runCommand(install, { cwd: place, env: process.env });
  const plain = await run(place, "nothing");
  const tracked = await run(place, "tracker");
  const differing = [...plain.tests].filter(
    ([title, { passed }]) => passed && tracked.tests.get(title)?.passed !== true,
  );
  const unexplained = differing.filter(([title]) => {
    const why = tracked.tests.get(title)?.why ?? "it did not run";
    const isOurs = /cache-control/i.test(title + why);
    if (!isOurs) console.log(`${basename(place)}: ${title}\n${why}`);
    return !isOurs;
  });
  isRight &&= unexplained.length === 0 && plain.tests.size > 0;
  rows.push([
    basename(place),
    ...[plain.tests.size, passed(plain), passed(tracked)].map(String),
    ...[differing.length, differing.length - unexplained.length].map(String),
  ]);
}
console.log(columns(rows).join("\n"));
process.exit(isRight ? 0 : 1);

function passed({ tests }: Ran): number {
  return [...tests.values()].filter((test) => test.passed).length;
}

/** Runs Mocha as the package's own script does. */
async function run(folder: string, inFront: "tracker" | "nothing"): Promise<Ran> {
  const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const script =
    [scripts.test, scripts["test-ci"]].find((each) => /\bmocha\b/.test(each ?? "")) ?? "mocha test/";
  const own = /\bmocha\b([^&|;]*)/.exec(script)?.[1] ?? "";
  const args = own
    .replaceAll(/--bail|--no-exit|--exit|--reporter \S+/g, "")
    .trim()
    .split(/\s+/)
    .filter(Boolean);
  const mocha = ["node_modules/mocha/bin/mocha.js", "node_modules/mocha/bin/mocha"].find((path) =>
    existsSync(join(folder, path)),
  );
  const command = [
    process.execPath,
    "--import",
    PRELOAD,
    String(mocha),
    ...args,
    "--exit",
    "--reporter",
    "tap",
  ];
  const env = { ...process.env, IN_FRONT: inFront, NODE_ENV: "test" };
  // Mocha exits with the number of failures.
  const shell = ["sh", "-c", '"$@"; exit 0', "sh", ...command];
  return { tests: testsIn(await runCommand(shell, { cwd: folder, env, withinMs: WITHIN_MS })) };
}

function testsIn(tap: string): Ran["tests"] {
  const tests = new Map<string, { passed: boolean; why: string }>();
  const seen = new Map<string, number>();
  let last: { passed: boolean; why: string } | undefined;
  for (const line of tap.split("\n")) {
    const [, not, title] = /^(not )?ok \d+ (.*)$/.exec(line) ?? [];
    if (title === undefined) {
      if (last) last.why += `${line}\n`;
      continue;
    }
    const nth = (seen.get(title) ?? 0) + 1;
    seen.set(title, nth);
    last = { passed: not === undefined && !/# SKIP/.test(title), why: "" };
    tests.set(`${title} (${nth})`, last);
  }
  return tests;
}
