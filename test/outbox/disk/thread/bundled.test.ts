import { mkdir, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { expect, inject, test } from "vitest";
import { dependencies } from "../../../../package.json";
import { scratchDirectory } from "../../../helpers/scratch.js";
import { startService } from "../../../helpers/service.js";
import { linkPackage, outputOf, runNode, userProject } from "../../../helpers/user-project.js";

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
  console.log(outcome);
}

main();
`;

interface Bundling extends BuildOptions {
  readonly host?: "host.mjs" | "host.cjs";
}

/** A project with a copy of the package and its dependencies. */
function project(): Promise<string> {
  const asCommonJs = HOST.replace(/import (.*) from (.*);/g, "const $1 = require($2);");
  const packages = [...Object.keys(dependencies), "@photostructure/sqlite"];
  return userProject({ "host.mjs": HOST, "host.cjs": asCommonJs }, packages, { isCopied: true });
}

function bundle(folder: string, outfile: string, { host = "host.mjs", ...options }: Bundling) {
  const entryPoints = [join(folder, host)];
  return build({ entryPoints, outfile, bundle: true, platform: "node", logLevel: "error", ...options });
}

async function deliversWith(file: string, options: string[] = []): Promise<void> {
  const service = await startService();
  const args = [...options, file, service.url, scratchDirectory()];
  // A bundle finds what it needs beside itself, and not in the folder that it is started in.
  const { code, stderr, stdout } = await outputOf(runNode("/", args));
  expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: "", stdout: "queued\n" });
  expect(service.posted).toHaveLength(1);
}

const banner = {
  js: 'import { createRequire as requireIn } from "node:module"; const require = requireIn(import.meta.url);',
};

test.each([
  ["host.mjs", "bundle.cjs", {}],
  ["host.mjs", "bundle.mjs", { format: "esm", banner }],
  ["host.cjs", "bundle.cjs", {}],
] as const)(
  "the disk outbox works in one bundled file, with nothing beside it but SQLite for Node 20: %s as %s",
  async (host, file, options) => {
    const folder = scratchDirectory();
    await bundle(await project(), join(folder, file), { host, ...options });
    await linkPackage(folder, "@photostructure/sqlite");
    await deliversWith(join(folder, file));
  },
);

// What Yarn's Plug'n'Play does to `require`: modules are where no file is.
const PLUG_AND_PLAY = `
const Module = require("node:module");
const { join } = require("node:path");
const { _resolveFilename, _load } = Module;
const name = "@photostructure/sqlite";
const archive = "/archives/sqlite.zip";
process.versions.pnp = "3";
Module._resolveFilename = function (request, ...others) {
  if (request === "pnpapi") return __filename;
  if (request === name) return join(archive, request);
  return request.startsWith(archive) ? request : _resolveFilename.call(this, request, ...others);
};
Module._load = function (request, ...others) {
  return _load.call(this, request.startsWith(archive) ? join(__dirname, "unplugged") : request, ...others);
};
`;

test("the disk outbox works if Yarn's Plug'n'Play has SQLite in an archive", async () => {
  const folder = await project();
  await mkdir(join(folder, "unplugged"));
  await rename(join(folder, "node_modules/@photostructure/sqlite"), join(folder, "unplugged/sqlite"));
  await writeFile(join(folder, "unplugged/index.js"), 'module.exports = require("./sqlite");');
  await writeFile(join(folder, "pnp.cjs"), PLUG_AND_PLAY);
  await bundle(folder, join(folder, "bundle.cjs"), { packages: "external" });
  await deliversWith(join(folder, "bundle.cjs"), ["--require", join(folder, "pnp.cjs")]);
});

test("the disk outbox has a thread whose script needs nothing but Node", () => {
  const script: string = createRequire(import.meta.url)(join(inject("builtPackage"), "dist/disk-thread.cjs"));
  const names = [...script.matchAll(/require\("([^"]+)"\)/g)].map(([, name = ""]) => name);
  expect(names).toContain("node:worker_threads");
  expect(names.filter((name) => !name.startsWith("node:"))).toEqual([]);
});
