import { dirname, relative, resolve } from "node:path";
import { build, type Plugin } from "esbuild";

const PREFIX = "inline:";

/**
 * Of undici, what the transport uses, loaded when it is used, and one of its two parsers: the whole of it would take twice the memory and the time of a
 * thread's start. HTTP/2 is not spoken.
 */
const partsOfUndici: Plugin = {
  name: "parts-of-undici",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici\/index\.js$/ }, ({ path }) => ({ path, namespace: "parts-of-undici" }));
    onLoad({ filter: /./, namespace: "parts-of-undici" }, () => ({
      contents: `
        // As undici's index does: a proxy is asked for a tunnel by it.
        const tunnelling = (agent) => {
          require("undici/lib/dispatcher/dispatcher.js").prototype.connect = require("undici/lib/api/api-connect.js");
          return agent;
        };
        module.exports = {
          get buildConnector() { return require("undici/lib/core/connect.js"); },
          get Pool() { return require("undici/lib/dispatcher/pool.js"); },
          get ProxyAgent() { return tunnelling(require("undici/lib/dispatcher/proxy-agent.js")); },
          get EnvHttpProxyAgent() { return tunnelling(require("undici/lib/dispatcher/env-http-proxy-agent.js")); },
        };
      `,
      resolveDir: process.cwd(),
    }));
    onLoad({ filter: /undici\/lib\/(llhttp\/llhttp_simd-wasm|dispatcher\/client-h2)\.js$/ }, () => ({
      contents: "module.exports = undefined;",
    }));
  },
};

/** The module and all that it imports as one CommonJS script. */
async function scriptOf(path: string, plugins: Plugin[] = []): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path],
    plugins: [...plugins, partsOfUndici],
    bundle: true,
    write: false,
    format: "cjs",
    platform: "node",
    target: "node20",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
  });
  return outputFiles[0]?.text ?? "";
}

/**
 * For tsup: `import source from "inline:./thread.ts"`.
 *
 * @param plugins for what is inlined.
 */
export const inlineWith = (plugins: Plugin[]): Plugin => ({
  name: "inline",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^inline:/ }, ({ path, resolveDir }) => ({
      // Within the project, for the same reason as in tsup.config.ts.
      path: relative(process.cwd(), resolve(resolveDir, path.slice(PREFIX.length))),
      namespace: "inline",
    }));
    onLoad({ filter: /./, namespace: "inline" }, async ({ path }) => ({
      contents: await scriptOf(resolve(path), plugins),
      loader: "text",
      watchFiles: [resolve(path)],
    }));
  },
});

export const inlineForEsbuild = inlineWith([]);

/**
 * For tsup, where a script is so large that the two formats of the package share it: `inline:` imports lead to a file beside the
 * importer's output.
 */
export const inlineBeside = (file: string): Plugin => ({
  name: "inline-beside",
  setup({ onResolve }) {
    onResolve({ filter: /^inline:/ }, () => ({ path: file, external: true }));
  },
});

/** For tsup: makes the entry a module whose one export is its script, as a text. */
export const asText: Plugin = {
  name: "as-text",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => ({
      contents: `module.exports = ${JSON.stringify(await scriptOf(path))};`,
      loader: "js",
    }));
  },
};

/** The same for vitest. */
export const inlineForVite = {
  name: "inline",
  enforce: "pre" as const,
  resolveId(id: string, importer?: string) {
    if (id.startsWith(PREFIX) && importer)
      return `\0${PREFIX}${resolve(dirname(importer), id.slice(PREFIX.length))}`;
    return undefined;
  },
  async load(id: string) {
    if (!id.startsWith(`\0${PREFIX}`)) return undefined;
    return `export default ${JSON.stringify(await scriptOf(id.slice(PREFIX.length + 1)))};`;
  },
};
