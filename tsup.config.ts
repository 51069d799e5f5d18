import { readFile, writeFile } from "node:fs/promises";
import { basename, relative, resolve } from "node:path";
import { transform } from "esbuild";
import { defineConfig, type Options } from "tsup";
import { asText, inlineBeside, licences, ownZod } from "./inline-plugin.js";

type Plugin = NonNullable<Options["plugins"]>[number];

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
/** A file each. */
const scripts = {
  "disk-thread": "src/outbox/disk/thread/thread.ts",
  "inspector-page": "src/sandbox/browser/inspector/main.js",
  "dashboard-page": "src/dashboard/browser/main.js",
};

/**
 * esbuild writes `__require` for external modules. Hosts' bundlers do not know it, so they would leave undici out. Webpack
 * warns of its definition.
 */
const plainRequire: Plugin = {
  name: "plain-require",
  renderChunk: (code) => ({
    code: code
      .replace(/\b__require\(/g, "require(")
      .replace(/^var __require = [\s\S]*? is not supported'\);\n}\);$/m, "var __require;"),
  }),
};

/**
 * tsup's own conversion of split ES modules to CommonJS lowers modern syntax, and loses the names of classes, which hosts
 * log.
 */
const toCommonJs: Plugin = {
  name: "to-common-js",
  async renderChunk(contents) {
    // Modules are strict.
    const banner = '"use strict";';
    const { code } = await transform(contents, { format: "cjs", platform: "node", target: "node20", banner });
    return { code };
  },
};

/**
 * Writes an ES module and its types beside each entry of the library, which lead to the entry. The package has its code and
 * its types once, and so has a process that both imports and requires it.
 */
function asModules(): Plugin {
  const modules = new Map<string, string>();
  return {
    name: "as-modules",
    renderChunk(_code, { path, entryPoint, exports = [] }) {
      const name = basename(path, ".cjs");
      if (entryPoint && name in library)
        modules.set(
          path.replace(/\.cjs$/, ".js"),
          `export { ${exports.join(", ")} } from "./${name}.cjs";\n`,
        );
    },
    async buildEnd() {
      for (const [path, code] of modules) {
        await writeFile(path, code);
        await writeFile(path.replace(/\.js$/, ".d.ts"), `export * from "./${basename(path, ".js")}.cjs";\n`);
      }
    },
  };
}

/** All but the types. */
export const code: Options[] = [
  {
    entry: { ...library, cli: "src/cli/main.ts" },
    format: "esm",
    outExtension: () => ({ js: ".cjs" }),
    target: "node20",
    // The schemas use a fiftieth of zod, which takes 8 MB as a dependency.
    noExternal: [/^zod/],
    splitting: true,
    esbuildPlugins: [rawText, ownZod, inlineBeside(scripts)],
    plugins: [plainRequire, toCommonJs, asModules()],
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
];

const types: Options = { entry: library, format: "cjs", dts: { only: true } };

// With `--no-dts`, `types` would be code once more.
export default defineConfig(({ dts }) => (dts === false ? code : [...code, types]));
