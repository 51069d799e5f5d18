import { describe, expect, test } from "vitest";
import { faultModes } from "../../src/sandbox/faults.js";
import { textOf } from "../helpers/docs/pages.js";
import { outputOf, runNode, userProject } from "../helpers/user-project.js";

/** The blocks of code that name a file, by that name. */
function filesIn(markdown: string): Record<string, string> {
  const blocks = markdown.matchAll(/```js file=(\S+)\n(.*?)```/gs);
  return Object.fromEntries([...blocks].map(([, name = "", code = ""]) => [name, code]));
}

const asCommonJs = (code: string) =>
  code
    .replaceAll(/^import (.+) from (".+");$/gm, "const $1 = require($2);")
    .replaceAll(/^export function (\w+)/gm, "exports.$1 = function $1");

describe("docs/testing.md", () => {
  const markdown = textOf("docs/testing.md");
  const files = filesIn(markdown);
  const shop = files["shop.js"] ?? "";
  const packages = ["express", "supertest", "vitest", "jest"];
  const modules = { "package.json": '{ "type": "module" }', ...files };

  test("passes with Vitest", async () => {
    const config = 'export default { test: { include: ["*.vitest.js"] } };';
    const project = await userProject({ ...modules, "vitest.config.js": config }, packages);
    const vitest = runNode(project, ["node_modules/vitest/vitest.mjs", "run"]);
    const { code, stdout, stderr } = await outputOf(vitest);
    expect({ code, stderr, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/2 passed/) });
  });

  test("passes with node:test", async () => {
    const [, imported = "none"] = /^\| node:test \| `(.+)` \|$/m.exec(markdown) ?? [];
    const ofNode = (files["shop.vitest.js"] ?? "").replace(/^import .* from "vitest";$/m, imported);
    const project = await userProject({ ...modules, "shop.node.js": ofNode }, packages);
    const { code, stdout } = await outputOf(runNode(project, ["--test", "shop.node.js"]));
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/pass 2\b/) });
  });

  test("passes with Jest", async () => {
    const config = '{ "jest": { "testMatch": ["**/shop.jest.js"] } }';
    const ofJest = asCommonJs((files["shop.vitest.js"] ?? "").replace(/^import .* from "vitest";\n/m, ""));
    const common = { "shop.jest.js": ofJest, "shop.js": asCommonJs(shop), "package.json": config };
    const project = await userProject(common, packages);
    const { code, stderr } = await outputOf(runNode(project, ["node_modules/jest/bin/jest.js"]));
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/2 passed/) });
  });
});

test("docs/sandbox.md lists every fault", () => {
  for (const mode of faultModes) expect(textOf("docs/sandbox.md")).toContain(`\n| \`${mode}\` |`);
});
