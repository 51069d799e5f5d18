import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { expect, test } from "vitest";
import { dependencies } from "../../package.json";
import { startService } from "../helpers/service.js";
import { outputOf, runNode, userProject } from "../helpers/user-project.js";

const HOST = `
const { affiliate } = require("express-affiliate");
const tracker = affiliate({ baseUrl: process.argv[2], clientId: 1, logger: { warn: console.log, error: console.log } });
const payment = { paymentId: "o-1", customerEmail: "ada@shop.example", leadValue: 19.9 };
tracker.trackPayment(payment, { clickId: "c-1" }).then(() => tracker.flush()).then(() => tracker.close());
`;

/** A project with a copy of the package and its dependencies, but for undici. */
function projectWithoutUndici(): Promise<string> {
  const asModule = HOST.replace(/const (.*) = require\((.*)\)/, "import $1 from $2");
  const packages = Object.keys(dependencies).filter((name) => name !== "undici");
  return userProject({ "host.cjs": HOST, "host.mjs": asModule }, packages, { isCopied: true });
}

/** What a bundle of the host sends where nothing is installed, and what it prints. */
async function run(folder: string, file: string) {
  const { url, posted } = await startService();
  return { ...(await outputOf(runNode(folder, [file, url]))), posted };
}

async function bundle(folder: string, options: BuildOptions): Promise<void> {
  await build({
    ...{ entryPoints: [join(folder, "host.mjs")], outdir: folder, entryNames: "bundle" },
    outExtension: { ".js": ".cjs" },
    ...{ bundle: true, platform: "node", format: "cjs", nodePaths: ["node_modules"], ...options },
  });
  await rm(join(folder, "node_modules"), { recursive: true });
}

test.each<[string, BuildOptions?]>([
  ["host.cjs"],
  ["host.mjs"],
  ["bundle.cjs", {}],
  ["bundle.cjs", { minify: true }],
])("%s fails at the start, and names the package, if undici is missing (%j)", async (file, options) => {
  const folder = await projectWithoutUndici();
  if (options) await bundle(folder, { external: ["undici/index.js"], ...options });
  const { code, stderr } = await run(folder, file);
  expect(code).toBe(1);
  expect(stderr).toContain(
    "affiliate: undici, which sends the requests, cannot be loaded: it is not installed",
  );
});

const require = `import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);`;
const BUNDLES: [string, BuildOptions, string][] = [
  ["with undici in it", {}, "bundle.cjs"],
  [
    "to ES modules, with splitting,",
    { splitting: true, format: "esm", outExtension: { ".js": ".mjs" }, banner: { js: require } },
    "bundle.mjs",
  ],
];

test.each(BUNDLES.flatMap((each) => [false, true].map((minify) => [...each, minify] as const)))(
  "a bundle %s delivers where nothing is installed (%j, %s, minified: %j)",
  async (_, options, file, minify) => {
    const folder = await projectWithoutUndici();
    await bundle(folder, { ...options, minify });
    const { code, stdout, stderr, posted } = await run(folder, file);
    expect([code, stdout, stderr]).toEqual([0, "", ""]);
    expect(posted).toHaveLength(1);
  },
);

test("a bundle whose undici cannot be loaded says so", async () => {
  const folder = await projectWithoutUndici();
  const plugin = {
    name: "broken",
    setup: ({ onLoad }: import("esbuild").PluginBuild) =>
      onLoad({ filter: /undici[\\/]index\.js$/ }, () => ({ contents: "throw new Error('no node:sqlite')" })),
  };
  await bundle(folder, { plugins: [plugin] });
  const { stdout } = await run(folder, "bundle.cjs");
  expect(stdout).toContain(
    "undici, which sends the requests, cannot be loaded: no node:sqlite; if this is a bundle",
  );
});
