import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

const PREFIX = "inline:";
const SCRIPT = "?script";

const minified = {
  bundle: true,
  write: false,
  metafile: true,
  minifySyntax: true,
  minifyWhitespace: true,
  // They are in a file of their own: see `licences`.
  legalComments: "none",
} satisfies BuildOptions;

/** The module and all that it imports as one CommonJS script. */
function buildScript(path: string, plugins: Plugin[] = []) {
  return build({
    ...minified,
    entryPoints: [path],
    plugins,
    // In a function: a script's own variables would be the thread's globals, `setImmediate` among them.
    format: "iife",
    platform: "node",
    target: "node20",
  });
}

async function scriptOf(path: string, plugins?: Plugin[]): Promise<string> {
  const { outputFiles } = await buildScript(path, plugins);
  return outputFiles[0]?.text ?? "";
}

/** The module and all that it imports as one script for a page. */
function buildPageScript(path: string) {
  return build({
    ...minified,
    entryPoints: [path],
    format: "esm",
    platform: "browser",
    target: "es2022",
    charset: "utf8",
  });
}

async function pageScriptOf(path: string): Promise<string> {
  const { outputFiles } = await buildPageScript(path);
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
 * For tsup, if scripts are so large that they have files of their own: `inline:` and `?script` imports lead to files
 * beside the importer's output.
 *
 * @param scripts the files' names, without `.cjs`, and the modules that they are made of, as `asText` does.
 */
export const inlineBeside = (scripts: Readonly<Record<string, string>>): Plugin => ({
  name: "inline-beside",
  setup({ onResolve }) {
    onResolve({ filter: /^inline:|\?script$/ }, ({ path, resolveDir }) => {
      const plain = path.replace(PREFIX, "").replace(SCRIPT, "");
      const module = relative(process.cwd(), resolve(resolveDir, plain));
      const [name] = Object.entries(scripts).find(([, each]) => each === module) ?? [];
      return name === undefined
        ? { errors: [{ text: `${module} has no file of its own` }] }
        : { path: `./${name}.cjs`, external: true };
    });
  },
});

/** Of a page if it is JavaScript, else of a thread. */
const buildText = (path: string) => (path.endsWith(".js") ? buildPageScript(path) : buildScript(path));

/**
 * For tsup: zod keeps its configuration and registry on `globalThis`, for all copies in a process. The copy in this package has its own,
 * so that neither it nor the host's own zod changes the other.
 */
export const ownZod: Plugin = {
  name: "own-zod",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]node_modules[\\/]zod[\\/].*\.js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      return source.includes("globalThis.__zod")
        ? { contents: `const globalThis = {};\n${source}` }
        : undefined;
    });
  },
};

/** For tsup: makes each entry a module whose one export is its script, as a text. */
export const asText: Plugin = {
  name: "as-text",
  setup({ onLoad }) {
    onLoad({ filter: /./ }, async ({ path }) => {
      const { outputFiles } = await buildText(path);
      return { contents: `module.exports = ${JSON.stringify(outputFiles[0]?.text)};`, loader: "js" };
    });
  },
};

/** For tsup: `import text from "./main.js?script"`, a page's script. */
export const pageScripts: Plugin = {
  name: "page-scripts",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\?script$/ }, ({ path, resolveDir }) => ({
      path: relative(process.cwd(), resolve(resolveDir, path)),
      namespace: "page-scripts",
    }));
    onLoad({ filter: /./, namespace: "page-scripts" }, async ({ path }) => ({
      contents: await pageScriptOf(resolve(path.slice(0, -SCRIPT.length))),
      loader: "text",
    }));
  },
};

/**
 * For tsup: writes beside the output the licences of the packages that are in these scripts.
 *
 * @param others the packages that are in the rest of the output.
 */
export const licences = (scripts: Readonly<Record<string, string>>, others: readonly string[]): Plugin => ({
  name: "licences",
  setup({ initialOptions: { outdir = "" }, onEnd }) {
    onEnd(async () => {
      const builds = await Promise.all(Object.values(scripts).map(buildText));
      const inputs = builds.flatMap(({ metafile }) => Object.keys(metafile.inputs));
      const folders = inputs.flatMap((path) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
      folders.push(...others.map((name) => join("node_modules", name)));
      const parts = [...new Set(folders)].sort().map(async (folder) => {
        const { name, version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
        return `${name} ${version}\n\n${(await readFile(join(folder, "LICENSE"), "utf8")).trim()}\n`;
      });
      const text = [
        "Parts of these packages are in the files of this folder.\n",
        ...(await Promise.all(parts)),
      ];
      await mkdir(outdir, { recursive: true });
      await writeFile(join(outdir, "licenses.txt"), text.join(`\n${"-".repeat(80)}\n\n`));
    });
  },
});

/** `inline:` and `?script` for vitest. */
export const inlineForVite = {
  name: "inline",
  enforce: "pre" as const,
  resolveId(id: string, importer?: string) {
    if (!importer) return undefined;
    if (id.startsWith(PREFIX)) return `\0${PREFIX}${resolve(dirname(importer), id.slice(PREFIX.length))}`;
    if (id.endsWith(SCRIPT)) return `\0${resolve(dirname(importer), id)}`;
    return undefined;
  },
  async load(id: string) {
    const isThread = id.startsWith(`\0${PREFIX}`);
    if (!isThread && !(id.startsWith("\0") && id.endsWith(SCRIPT))) return undefined;
    const text = isThread
      ? await scriptOf(id.slice(PREFIX.length + 1))
      : await pageScriptOf(id.slice(1, -SCRIPT.length));
    return `export default ${JSON.stringify(text)};`;
  },
};
