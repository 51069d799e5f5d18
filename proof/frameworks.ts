/**
 * `npm run proof frameworks -- nestjs`
 *
 * The recipes of docs/frameworks.md, docs/payments.md, docs/postgres.md and docs/transactions.md,
 * the bundlers and runtimes of docs/deployment.md, and what may stand before an app (adapters of
 * serverless hosts, proxies, a cache of the process), as test/frameworks has them: each is
 * installed beside the packed package in a project of its own, with Express 4 and 5 if its framework
 * takes both, and walked with real requests on Node 20 and 26. Exits with 1 if a walk fails.
 *
 * Walks the recipes that are named, or all. `--short` walks every second one, each with one Express
 * on one Node, chosen by the commit.
 */
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createDatabases } from "./frameworks/databases.js";
import { install, type Project, walk } from "./frameworks/project.js";
import { recipes } from "./frameworks/recipes.js";
import { commandLine } from "./shared/options.js";
import { nodeOf, pack } from "./shared/packed.js";
import { scratch } from "./shared/scratch.js";
import { inTurn, turnOf } from "./shared/turn.js";

/** `tarball`: a package that is packed already, to save the build. */
const { options, words } = commandLine({ short: false, tarball: "" });
const SIDE_BY_SIDE = 3;
const NODES = chosen("Node", [20, 26]);
const EXPRESS = [4, 5] as const;

const every = Object.keys(recipes);
const half = turnOf("half of the recipes", 2);
const names = words.length > 0 ? words : options.short ? every.filter((_, nth) => nth % 2 === half) : every;
const unknown = names.filter((name) => !(name in recipes));
if (unknown.length > 0) {
  throw new Error(`there is no recipe ${unknown.join(", ")}; there are ${every.join(", ")}`);
}
process.exitCode = (await prove()) ? 0 : 1;

/** With `--short`, one of the list. Otherwise all. */
function chosen<T>(choice: string, list: readonly T[]): readonly T[] {
  return options.short ? [inTurn(choice, list)] : list;
}

/** The majors of Express that the recipe is tried with. */
function expressOf(name: string): readonly (4 | 5)[] {
  const taken = EXPRESS.filter((express) => recipes[name]?.express[express]);
  return chosen(`Express of ${name}`, taken);
}

async function prove(): Promise<boolean> {
  const folder = scratch();
  const databases = createDatabases();
  let passed = 0;
  let failed = 0;
  try {
    const tarball = options.tarball ? resolve(options.tarball) : await pack(folder);
    const nodes = new Map<number, string>();
    for (const major of NODES) nodes.set(major, await nodeOf(major));
    const projects = names
      .flatMap((name) => expressOf(name).map((express) => ({ name, express })))
      .map((each): Project => ({ ...each, folder: join(folder, `${each.name}-express-${each.express}`) }))
      .values();

    async function work(): Promise<void> {
      for (const project of projects) {
        const problem = await install(project, tarball);
        for (const [major, node] of nodes) {
          const { database } = recipes[project.name] ?? {};
          const environment = database ? { DATABASE_URL: await databases.create(database) } : {};
          const { isRight, facts, output } = problem ?? (await walk(project, node, environment));
          const what = `${project.name} with Express ${project.express} on Node ${major}`;
          console.log(isRight ? `ok: ${what}, ${facts} facts` : `\n--- ${what} fails\n${output}`);
          if (isRight) passed++;
          else failed++;
        }
        await rm(project.folder, { recursive: true, force: true });
      }
    }
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
    console.log(`\n${passed} passed, ${failed} failed`);
    return failed === 0 && passed > 0;
  } finally {
    await databases.close();
  }
}
