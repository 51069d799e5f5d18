import { readFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { defineConfig, type Options } from "tsup";
import { asText, inlineBeside, licences, ownZod } from "./inline-plugin.js";

/** `import text from "./file?raw"` gives the file's text, as it does in Vite. */
export const rawText: NonNullable<Options["esbuildPlugins"]>[number] = {
  name: "raw-text",
  setup(build) {
    // The suffix stays on the path until the file is read, or tsup would take a style sheet for one of its own.
    build.onResolve({ filter: /\?raw$/ }, ({ path, resolveDir }) => ({
      // Within the project: a comment says where each came from, and the package is to be the same from any folder.
      path: relative(process.cwd(), resolve(resolveDir, path)),
      namespace: "raw-text",
    }));
    build.onLoad({ filter: /.*/, namespace: "raw-text" }, async ({ path }) => ({
      contents: await readFile(path.slice(0, -"?raw".length), "utf8"),
      loader: "text",
    }));
  },
};

const library = {
  index: "src/index.ts",
  disk: "src/outbox/disk/index.ts",
  postgres: "src/outbox/postgres/index.ts",
  mysql: "src/outbox/mysql/index.ts",
  sandbox: "src/sandbox/index.ts",
  dashboard: "src/dashboard/index.ts",
  gateways: "src/gateways/index.ts",
  testing: "src/testing/index.ts",
};
/** What both formats share: a file each. */
const scripts = {
  "disk-thread": "src/outbox/disk/thread/thread.ts",
  "inspector-page": "src/sandbox/browser/inspector/main.js",
  "dashboard-page": "src/dashboard/browser/main.js",
};
const common = {
  target: "node20",
  // The schemas use a fiftieth of zod, which takes 8 MB as a dependency.
  noExternal: [/^zod/],
  splitting: true,
  shims: true,
  esbuildPlugins: [rawText, ownZod, inlineBeside(scripts)],
} satisfies Options;

/** esbuild writes `__require` for what it leaves out: bundlers of hosts do not know it, and would leave undici out, too. */
const plainRequire: NonNullable<Options["plugins"]>[number] = {
  name: "plain-require",
  renderChunk: (code) => ({ code: code.replace(/\b__require\(/g, "require(") }),
};

export default defineConfig([
  { ...common, entry: { ...library, cli: "src/cli/main.ts" }, format: "esm", dts: { entry: library } },
  {
    ...common,
    entry: library,
    format: "cjs",
    dts: true,
    plugins: [plainRequire],
    // Jest cannot `import()` from CommonJS: `require` takes its place.
    esbuildOptions: (esbuild) => {
      esbuild.supported = { "dynamic-import": false };
    },
  },
  {
    entry: scripts,
    format: "cjs",
    target: "node20",
    esbuildPlugins: [asText, licences(scripts, ["zod"])],
    // What `asText` makes is CommonJS, and is written as such.
    esbuildOptions: (options) => {
      options.logOverride = { "commonjs-variable-in-esm": "silent" };
    },
  },
]);
