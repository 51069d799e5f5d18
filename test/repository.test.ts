import { execFileSync, spawnSync } from "node:child_process";
import { accessSync, constants, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import manifest from "../package.json" with { type: "json" };
import { scratchDirectory } from "./helpers/scratch.js";
import { ALONE } from "./setup/alone.js";

const root = resolve(import.meta.dirname, "..");
const textOf = (path: string) => readFileSync(join(root, path), "utf8");
const filesIn = (folder: string) => readdirSync(join(root, folder)).map((name) => join(folder, name));

it("has a process for each test file that replaces modules", () => {
  const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .map((name) => join("test", name))
    .filter((name) => name.endsWith(".test.ts") && /\bvi\.(mock|doMock)\(/.test(textOf(name)));
  expect(files).not.toEqual([]);
  expect(ALONE).toEqual(expect.arrayContaining(files.filter((name) => !name.includes(".slow."))));
});

describe("the workflow", () => {
  const workflow = parse(textOf(".github/workflows/ci.yml"), { strict: true });
  const { strategy, container, steps } = workflow.jobs.run;
  const commands: string[] = steps.flatMap(({ run }: { run?: string }) => run ?? []);

  it("runs for every pull request, and may only read", () => {
    expect(Object.keys(workflow.on)).toContain("pull_request");
    expect(workflow.permissions).toEqual({ contents: "read" });
  });

  it("calls .ci/run on each Node, from the oldest that is supported on", () => {
    const leg = "$" + "{{ matrix.node }}";
    expect(strategy.matrix).toEqual({ node: [20, 22, 24] });
    expect(manifest.engines.node).toMatch(new RegExp(`^>=${strategy.matrix.node[0]}\\.`));
    expect(container).toBe(`node:${leg}-bookworm`);
    expect(steps).toContainEqual({ run: ".ci/run", env: { LEG: leg } });
    accessSync(join(root, ".ci/run"), constants.X_OK);
  });

  const scripts = [".ci/run", ".ci/package", ".ci/node", ".ci/promtool"].map(
    (path) => [path, textOf(path)] as const,
  );
  it.each([...commands.map((command) => [command, command] as const), ...scripts])(
    "has only what Bash can read: %s",
    (_name, script) => {
      expect(String(execFileSync("bash", ["-n"], { input: script, stdio: "pipe" }))).toBe("");
    },
  );

  it("has no script in .ci/run that package.json does not have", () => {
    const named = [...textOf(".ci/run").matchAll(/npm (?:run (?:--silent )?)?([\w:]+)/g)].map(
      ([, name]) => name,
    );
    expect(named).toContain("test");
    expect([...Object.keys(manifest.scripts), "ci"]).toEqual(expect.arrayContaining(named));
  });

  it("runs every proof", () => {
    const script = textOf(".ci/run");
    // A command in a variable counts where a step runs it.
    const variables = [...script.matchAll(/^(\w+)="(.*)"$/gm)].map(([, name, value]) => [`$${name}`, value]);
    const steps = script.replaceAll(/^\w+=.*$/gm, "");
    const written = variables.reduceRight(
      (text, [name, value]) => text.replaceAll(name as string, value as string),
      steps,
    );
    const calls = written.matchAll(/(?:npm run --silent proof|node proof\/run\.js) (\w+)/g);
    const run = [...calls].map(([, name]) => name);
    const proofs = filesIn("proof").flatMap((path) => path.match(/^proof\/(\w+)\.ts$/)?.[1] ?? []);
    expect(new Set(run)).toEqual(new Set(proofs));
  });
});

describe("a release", () => {
  const [, section = ""] = textOf("CONTRIBUTING.md").split("\n## Release\n");
  const [, path = ""] = /`(\.github\/workflows\/\S+\.yml)`/.exec(section) ?? [];
  const workflow = parse(textOf(path), { strict: true });
  const commands: string[] = workflow.jobs.publish.steps.flatMap(({ run }: { run?: string }) => run ?? []);
  const bash = (script: string | undefined, env: NodeJS.ProcessEnv = {}) =>
    spawnSync("bash", ["-e"], { cwd: root, input: script ?? "", env: { ...process.env, ...env } });

  it("is published by the workflow that CONTRIBUTING.md names, for a tag alone, with a provenance", () => {
    expect(workflow.on).toEqual({ push: { tags: ["v*"] } });
    expect(workflow.permissions).toEqual({ contents: "read", "id-token": "write" });
    expect(manifest.publishConfig).toMatchObject({ access: "public", provenance: true });
    expect(commands.join("\n")).toContain("npm publish");
  });

  it("is not published if the tag is another version's", () => {
    const [check] = commands;
    expect(bash(check, { GITHUB_REF_NAME: `v${manifest.version}` }).status).toBe(0);
    expect(bash(check, { GITHUB_REF_NAME: "v99.0.0" }).status).toBe(1);
  });

  it("has its date in CHANGELOG.md, below what is unreleased", () => {
    const [first, second = ""] = [...textOf("CHANGELOG.md").matchAll(/^## (.+)$/gm)].map(
      ([, title]) => title,
    );
    expect(first).toBe("Unreleased");
    expect(second).toMatch(
      new RegExp(`^${manifest.version.replaceAll(".", "\\.")} \\(\\d{4}-\\d\\d-\\d\\d\\)$`),
    );
  });

  it("begins with a repository's name, which package.json takes as CONTRIBUTING.md says", () => {
    const folder = scratchDirectory();
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "x", version: "1.0.0" }));
    const [, command = ""] = /```sh\n((?:.|\n)+?)```/.exec(section) ?? [];
    execFileSync("bash", ["-e"], { cwd: folder, input: command });
    expect(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).toMatchObject({
      repository: { type: "git", url: "git+https://github.com/OWNER/NAME.git" },
      homepage: "https://github.com/OWNER/NAME#readme",
      bugs: { url: "https://github.com/OWNER/NAME/issues" },
    });
  });
});

describe("Renovate", () => {
  const config = JSON.parse(textOf("renovate.json"));
  const known = { ...manifest.dependencies, ...manifest.devDependencies };

  it.each<Record<string, unknown>>(config.packageRules)("has a rule that fits: $description", (rule) => {
    const matchers = ["matchDepTypes", "matchUpdateTypes", "matchPackageNames", "matchDepNames"];
    expect(["description", "groupName", "enabled", "allowedVersions", ...matchers]).toEqual(
      expect.arrayContaining(Object.keys(rule)),
    );
    for (const name of [rule.matchPackageNames, rule.matchDepNames].flatMap((names) => names ?? [])) {
      expect(known).toHaveProperty([name as string]);
    }
    for (const type of (rule.matchDepTypes ?? []) as string[]) expect(manifest).toHaveProperty([type]);
  });
});

describe("a template", () => {
  it.each(filesIn(".github/ISSUE_TEMPLATE"))("has a name and a line about it: %s", (path) => {
    const [before, head = ""] = textOf(path).split(/^---$/m);
    expect(before).toBe("");
    expect(parse(head)).toEqual({ name: expect.stringMatching(/./), about: expect.stringMatching(/./) });
  });

  it("for pull requests names commands that there are", () => {
    const commands = [...textOf(".github/pull_request_template.md").matchAll(/`npm (?:run )?([\w:]+)`/g)];
    expect(commands).not.toEqual([]);
    for (const [, name = ""] of commands) expect(manifest.scripts).toHaveProperty([name]);
  });
});
