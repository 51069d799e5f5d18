/**
 * `npm run proof apps -- vendure parse-server`
 *
 * Applications that other people wrote, from the npm registry, with the packed package and a patch of ours that a user would write.
 * Walks the apps that are named, or all: each is a file in proof/apps/. A customer comes through an affiliate's link, signs up and
 * pays; the app is restarted and killed, the payment is told again, and refunded. Prints for each app the lines changed and the time
 * from the installation of the package to the first linked payment. Exits with 1 if the service has not each once, linked.
 *
 * `--short` walks three, in turn by the day of the year.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { App } from "./apps/shared/app.js";
import { proveApp } from "./apps/shared/prove.js";
import { type Databases, startDatabases } from "./frameworks/databases.js";
import { pack } from "./shared/packed.js";
import { partsOf, runParts } from "./shared/run-parts.js";

const { values, positionals } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    /** A package that is packed already, to save the build. */
    tarball: { type: "string" },
    keep: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const IN_SHORT = 3;
/** In the order of names, those that take minutes to install are never this far apart. */
const STRIDE = 6;

const scratch = mkdtempSync(join(tmpdir(), "express-affiliate-apps-"));
process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
// So that what ends with the process ends in these cases, too.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const tarball = values.tarball ? resolve(values.tarball) : await pack(scratch);
const servers: { postgres?: Promise<Databases>; mysql?: Promise<Databases> } = {};

await runParts<App>("apps", positionals.length > 0 ? positionals : chosen(), (app, name) =>
  proveApp(name, app, {
    tarball,
    keep: values.keep,
    async database(server) {
      const mysql = server === "mysql";
      servers[server] ??= startDatabases({ mysql, pgbouncer: false });
      const { DATABASE_URL } = await (await servers[server]).create({ mysql, pgbouncer: false });
      return DATABASE_URL;
    },
  }),
);

/** All, or those whose turn it is today. */
function chosen(): string[] {
  const all = partsOf("apps").sort();
  if (!values.short) return all;
  const now = new Date();
  const day = Math.floor((now.getTime() - Date.UTC(now.getUTCFullYear(), 0, 0)) / 86_400_000);
  return Array.from({ length: IN_SHORT }, (_, nth) => all[(day + nth * STRIDE) % all.length] as string);
}
