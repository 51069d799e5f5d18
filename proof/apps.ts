/**
 * `npm run proof apps -- vendure parse-server`
 *
 * Applications that other people wrote, from the npm registry, with the packed package and a patch
 * of ours that a user would write. Walks the apps that are named, or all: each is a file in
 * proof/apps/. A customer comes through an affiliate's link, signs up and pays; the app is
 * restarted and killed, the payment is reported again, and refunded. Prints for each app the lines
 * changed and the time from the installation of the package to the first linked payment. Exits with
 * 1 unless the service has each once, linked. Ends what it has started.
 *
 * `--short` walks three, chosen by the commit.
 */
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { App } from "./apps/shared/app.js";
import { proveApp } from "./apps/shared/prove.js";
import { createDatabases } from "./frameworks/databases.js";
import { commandLine } from "./shared/options.js";
import { pack } from "./shared/packed.js";
import { partsOf, runParts } from "./shared/run-parts.js";
import { scratch } from "./shared/scratch.js";
import { turnOf } from "./shared/turn.js";

const { options, words } = commandLine({
  short: false,
  /** A package that is packed already, to save the build. */
  tarball: "",
});
const IN_SHORT = 3;
/** In the order of names: of the three that take minutes to install, two at most are chosen then. */
const STRIDE = 4;

const all = scratch();
// So that what ends with the process ends in these cases, too.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const tarball = options.tarball ? resolve(options.tarball) : await pack(all);
const databases = createDatabases();

await runParts<App>("apps", words.length > 0 ? words : chosen(), async (app, name) => {
  const folder = join(all, name);
  try {
    return await proveApp(name, app, { tarball, folder, database: () => databases.create("postgres") });
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

/** All, or those whose turn it is. */
function chosen(): string[] {
  const all = partsOf("apps").sort();
  if (!options.short) return all;
  const first = turnOf("app", all.length);
  return Array.from({ length: IN_SHORT }, (_, nth) => all[(first + nth * STRIDE) % all.length] as string);
}
