import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import manifest from "../package.json" with { type: "json" };
import { root, textOf } from "./helpers/docs/pages.js";
import { ALONE } from "./setup/alone.js";

it("the repository has a process for each test file that replaces modules", () => {
  const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .map((name) => join("test", name))
    .filter((name) => name.endsWith(".test.ts") && /\bvi\.(mock|doMock)\(/.test(textOf(name)));
  expect(files).not.toEqual([]);
  expect(ALONE).toEqual(expect.arrayContaining(files.filter((name) => !name.includes(".slow."))));
});

it("the repository has tests behind each name that its commands give to Vitest", () => {
  const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" });
  const commands = [...Object.values(manifest.scripts), textOf(".ci/run")].join("\n");
  const named = [...commands.matchAll(/\btest\/([\w./-]+)/g)].map(([, name = ""]) => name);
  expect(named).not.toEqual([]);
  const found = (name: string) => files.some((file) => file.startsWith(name) && file.endsWith(".test.ts"));
  expect(named.filter((name) => !found(name))).toEqual([]);
  for (const file of ALONE) expect(files).toContain(file.replace(/^test\//, ""));
});

it("the repository has each folder of src/ and each file in its root in CONTRIBUTING's layout", () => {
  const layout = textOf("CONTRIBUTING.md").split("## The layout")[1]?.split("\n## ")[0] ?? "";
  const entries = readdirSync(join(root, "src"), { withFileTypes: true });
  for (const entry of entries.filter(({ name }) => !name.endsWith(".d.ts"))) {
    expect(layout).toContain(entry.isDirectory() ? `| \`src/${entry.name}/\` |` : `\`${entry.name}\``);
  }
});

it("the repository runs every proof in .ci/run", () => {
  const calls = textOf(".ci/run").matchAll(/(?:npm run --silent proof|\$proof|node proof\/run\.js) (\w+)/g);
  const proofs = readdirSync(join(root, "proof")).flatMap((name) => /^(\w+)\.ts$/.exec(name)?.[1] ?? []);
  expect(new Set([...calls].map(([, name]) => name))).toEqual(new Set(proofs));
});

const workflows = readdirSync(join(root, ".github/workflows")).map((name) => `.github/workflows/${name}`);

it("the repository takes each action of the workflows by its digest", () => {
  const actions = workflows.flatMap((file) =>
    [...textOf(file).matchAll(/uses: (\S+)/g)].map(([, name]) => name),
  );
  expect(actions).not.toEqual([]);
  const theirs = actions.filter((name) => name !== "./.github/workflows/ci.yml");
  for (const name of theirs) expect(name).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
});

it("the repository publishes without a token, and only what CI has passed", () => {
  const { jobs } = parse(textOf(".github/workflows/release.yml"));
  expect(jobs.publish).toMatchObject({ needs: "ci", permissions: { "id-token": "write" } });
  expect(jobs.ci.uses).toBe("./.github/workflows/ci.yml");
  for (const file of workflows) expect(textOf(file)).not.toContain("secrets.");
});

it.each([
  [`v${manifest.version}`, 0],
  ["v99.0.0", 1],
])("the repository publishes a release only if the tag is this version's: %s", (tag, status) => {
  const { jobs } = parse(textOf(".github/workflows/release.yml"));
  const [check] = jobs.publish.steps.flatMap(({ run }: { run?: string }) => run ?? []);
  const env = { ...process.env, GITHUB_REF_NAME: tag };
  expect(spawnSync("bash", ["-e"], { cwd: root, input: check, env }).status).toBe(status);
});
