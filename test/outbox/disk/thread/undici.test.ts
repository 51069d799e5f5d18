import { cp, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { beforeAll, expect, inject, test } from "vitest";
import { dependencies } from "../../../../package.json";
import { scratchDirectory } from "../../../helpers/scratch.js";
import { startService } from "../../../helpers/service.js";
import { linkPackage, outputOf, runNode } from "../../../helpers/user-project.js";

const modules = resolve(import.meta.dirname, "../../../../node_modules");

const HOST = `
import { affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";

async function main() {
  const [baseUrl, directory] = process.argv.slice(2);
  const tracker = affiliate({ baseUrl, clientId: 1, outbox: diskOutbox({ directory }), confirmReferral: "never" });
  const payment = { paymentId: "o-1", customerEmail: "ada@shop.example", leadValue: 19.9 };
  const { outcome } = await tracker.trackPayment(payment, { clickId: "c-1" });
  await tracker.flush();
  await tracker.close();
  console.log(outcome, globalThis.hasLoadedUndici === true);
}

main();
`;

// A release of undici that says in each request which one it is, and where it runs.
const telling = (version: string) => `
const { isMainThread } = require("node:worker_threads");
globalThis.hasLoadedUndici = true;
module.exports.Pool = class extends module.exports.Pool {
  dispatch(options, handler) {
    const headers = { ...options.headers, "x-sent-by": "${version} in " + (isMainThread ? "the host" : "the thread") };
    return super.dispatch({ ...options, headers }, handler);
  }
};
`;

async function installUndici(folder: string, version: string): Promise<void> {
  const undici = join(folder, "node_modules/undici");
  await cp(join(modules, "undici"), undici, { recursive: true });
  await writeFile(join(undici, "index.js"), telling(version), { flag: "a" });
  const manifest = JSON.parse(await readFile(join(undici, "package.json"), "utf8"));
  await writeFile(join(undici, "package.json"), JSON.stringify({ ...manifest, version }));
}

/** A project with a copy of the package, its dependencies, and undici in this version. */
async function projectWith(undici: string): Promise<string> {
  const folder = scratchDirectory();
  await cp(inject("builtPackage"), join(folder, "node_modules/express-affiliate"), { recursive: true });
  const others = Object.keys(dependencies).filter((name) => name !== "undici");
  for (const name of [...others, "@photostructure/sqlite"]) await linkPackage(folder, name);
  await installUndici(folder, undici);
  await writeFile(join(folder, "host.mjs"), HOST);
  return folder;
}

/**
 * Bundles the project's host into one file. The bundle's folder has nothing else installed than
 * SQLite, for Node 20.
 */
async function bundled(project: string, format: "cjs" | "esm"): Promise<string> {
  const folder = scratchDirectory();
  const banner =
    'import { createRequire as requireIn } from "node:module"; const require = requireIn(import.meta.url);';
  await build({
    entryPoints: [join(project, "host.mjs")],
    outfile: join(folder, format === "cjs" ? "host.cjs" : "host.mjs"),
    bundle: true,
    platform: "node",
    format,
    ...(format === "esm" && { banner: { js: banner } }),
    logLevel: "error",
  });
  await linkPackage(folder, "@photostructure/sqlite");
  return folder;
}

let project: string;
let bundle: string;
beforeAll(async () => {
  project = await projectWith("7.99.0");
  bundle = await bundled(project, "cjs");
});

/** A folder with the bundle, and undici in this version. */
async function bundleBeside(undici: string): Promise<string> {
  const folder = scratchDirectory();
  await cp(bundle, folder, { recursive: true });
  await installUndici(folder, undici);
  return folder;
}

/** By which undici, in which thread, the host's payment is sent. */
async function sentBy(folder: string, host: string, options: string[] = []): Promise<string> {
  const service = await startService();
  const args = [...options, join(folder, host), service.url, scratchDirectory()];
  // A bundle finds what it needs beside itself, and not in the folder that it is started in.
  const { code, stderr, stdout } = await outputOf(runNode("/", args));
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(service.posted).toHaveLength(1);
  const by = String(service.posted[0]?.headers["x-sent-by"]);
  // Only the thread that sends has it in memory.
  expect({ by, stdout }).toEqual({ by, stdout: `queued ${by.endsWith("in the host")}\n` });
  return by;
}

test("sends from its thread with the undici that is installed, whichever release that is", async () => {
  expect(await sentBy(project, "host.mjs")).toBe("7.99.0 in the thread");
});

test.each(["cjs", "esm"] as const)(
  "works, and sends from the host's thread, if a bundler has put undici into the host's one file: %s",
  async (format) => {
    const folder = format === "cjs" ? bundle : await bundled(project, format);
    expect(await sentBy(folder, format === "cjs" ? "host.cjs" : "host.mjs")).toBe("7.99.0 in the host");
  },
);

// What Yarn's Plug'n'Play does to `require`: modules are where no file is.
const PLUG_AND_PLAY = `
const Module = require("node:module");
const { join } = require("node:path");
const { _resolveFilename, _load } = Module;
const archive = "/archives/undici.zip";
process.versions.pnp = "3";
Module._resolveFilename = function (request, ...others) {
  if (request === "pnpapi") return __filename;
  if (request.startsWith("undici/")) return join(archive, request);
  return request.startsWith(archive) ? request : _resolveFilename.call(this, request, ...others);
};
Module._load = function (request, ...others) {
  const path = request.replace(/^(\\/archives\\/undici\\.zip\\/)?(?=undici\\/)/, join(__dirname, "unplugged/"));
  return _load.call(this, path, ...others);
};
`;

test("sends from its thread if Yarn's Plug'n'Play has undici in an archive", async () => {
  const folder = await projectWith("7.99.0");
  await mkdir(join(folder, "unplugged"));
  await rename(join(folder, "node_modules/undici"), join(folder, "unplugged/undici"));
  await writeFile(join(folder, "pnp.cjs"), PLUG_AND_PLAY);
  await build({
    entryPoints: [join(folder, "host.mjs")],
    outfile: join(folder, "host.cjs"),
    packages: "external",
    bundle: true,
    platform: "node",
  });
  const options = ["--require", join(folder, "pnp.cjs")];
  expect(await sentBy(folder, "host.cjs", options)).toBe("7.99.0 in the thread");
});

test("sends from its thread if undici is installed beside a bundle", async () => {
  expect(await sentBy(await bundleBeside("7.98.0"), "host.cjs")).toBe("7.98.0 in the thread");
});

test.each(["6.99.0", "7.1.0", "8.0.0"])(
  "does not load an undici beside a bundle that is out of the package's range: %s",
  async (version) => {
    expect(await sentBy(await bundleBeside(version), "host.cjs")).toBe("7.99.0 in the host");
  },
);
