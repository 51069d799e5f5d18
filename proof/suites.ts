/**
 * `npm run proof suites -- FOLDER …`
 *
 * The tests of other people's middleware, with a tracker in front of each request and with nothing.
 * Each FOLDER is a checkout of a package that tests itself with Mocha, such as Express; without any,
 * a package of npm that contains its tests. Runs both, and compares them test by test. What tests
 * see of the tracker is its `Cache-Control`; its cookies are taken away first. Prints how many tests
 * passed each time. Exits with 1 if one differs that says nothing of `Cache-Control`.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { columns } from "./shared/figures.js";
import { commandLine } from "./shared/options.js";
import { npmFlags } from "./shared/packed.js";
import { runCommand } from "./shared/program.js";
import { scratch } from "./shared/scratch.js";

/** It contains its tests. */
const [PACKAGE, VERSION] = ["express-mung", "0.5.1"];

const { words } = commandLine({});
const PRELOAD = new URL("suites/preload.js", import.meta.url).href;
const WITHIN_MS = 300_000;

/** Of Mocha's reporter `json`. */
interface Report {
  readonly tests: readonly { readonly fullTitle: string; readonly err: object }[];
  readonly passes: readonly { readonly fullTitle: string }[];
}

/** How each test ended, by its title and its number. */
type Ran = ReadonlyMap<string, { readonly passed: boolean; readonly why: string }>;

const rows = [["", "tests", "passed", "with a tracker", "differ", "by Cache-Control"]];
let isRight = true;
for (const place of words.length > 0 ? words.map((word) => resolve(word)) : [await unpacked(scratch())]) {
  const install = ["npm", "install", "--ignore-scripts", ...npmFlags];
  if (!existsSync(join(place, "node_modules"))) await runCommand(install, { cwd: place, env: process.env });
  const plain = await run(place, "nothing");
  const tracked = await run(place, "tracker");
  const differing = [...plain].filter(([title, { passed }]) => passed && tracked.get(title)?.passed !== true);
  const unexplained = differing.filter(([title]) => {
    const why = tracked.get(title)?.why ?? "it did not run";
    const isOurs = /cache-control/i.test(title + why);
    if (!isOurs) console.log(`${basename(place)}: ${title}\n${why}`);
    return !isOurs;
  });
  isRight &&= unexplained.length === 0 && plain.size > 0;
  rows.push([
    basename(place),
    ...[plain.size, passed(plain), passed(tracked)].map(String),
    ...[differing.length, differing.length - unexplained.length].map(String),
  ]);
}
console.log(columns(rows).join("\n"));
process.exit(isRight ? 0 : 1);

async function unpacked(folder: string): Promise<string> {
  const place = { cwd: folder, env: process.env };
  await runCommand(["npm", "pack", "--silent", ...npmFlags, `${PACKAGE}@${VERSION}`], place);
  await runCommand(
    ["tar", "xzf", `${PACKAGE}-${VERSION}.tgz`, "--transform", `s/package/${PACKAGE}/`],
    place,
  );
  return join(folder, PACKAGE);
}

function passed(ran: Ran): number {
  return [...ran.values()].filter((test) => test.passed).length;
}

/** Runs Mocha as the package's own script does. */
async function run(folder: string, inFront: "tracker" | "nothing"): Promise<Ran> {
  const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const script =
    [scripts.test, scripts["test-ci"]].find((each) => /\bmocha\b/.test(each ?? "")) ?? "mocha test/";
  const args = (/\bmocha\b([^&|;]*)/.exec(script)?.[1] ?? "")
    .replaceAll(/--bail|--no-exit|--exit|--reporter \S+/g, "")
    .trim()
    .split(/\s+/)
    .filter(Boolean);
  const mocha = ["node_modules/mocha/bin/mocha.js", "node_modules/mocha/bin/mocha"].find((path) =>
    existsSync(join(folder, path)),
  );
  const command = [process.execPath, "--import", PRELOAD, String(mocha), ...args];
  const atTheEnd = ["--timeout", "60000", "--exit", "--reporter", "json"];
  const env = { ...process.env, IN_FRONT: inFront, NODE_ENV: "test" };
  // Mocha exits with the number of failures.
  const shell = ["sh", "-c", '"$@"; exit 0', "sh", ...command, ...atTheEnd];
  return testsIn(await runCommand(shell, { cwd: folder, env, withinMs: WITHIN_MS }));
}

/** What Mocha has written at its end: tests may look at what is written before. */
function testsIn(output: string): Ran {
  const at = output.lastIndexOf('{\n  "stats"');
  if (at < 0) throw new Error(`Mocha has not ended: ${output.slice(-2_000)}`);
  const { tests, passes } = JSON.parse(output.slice(at, output.lastIndexOf("}") + 1)) as Report;
  const passed = new Map<string, number>();
  for (const { fullTitle } of passes) passed.set(fullTitle, (passed.get(fullTitle) ?? 0) + 1);
  // Of several tests of one title, as many pass as passed.
  return new Map(
    tests.map(({ fullTitle, err }, nth) => {
      const left = passed.get(fullTitle) ?? 0;
      passed.set(fullTitle, left - 1);
      return [`${fullTitle} (${nth + 1})`, { passed: left > 0, why: JSON.stringify(err) }];
    }),
  );
}
