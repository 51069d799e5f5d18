/**
 * `npm run proof:frameworks -- --only nestjs`
 *
 * The recipes of docs/frameworks.md, docs/payments.md and docs/postgres.md, as test/frameworks has them: each is installed
 * beside the packed package in a project of its own, with Express 4 and 5 where its framework takes both, and walked with
 * real requests on Node 20 and 24. Prints a table. Exits with 1 where a walk fails.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { startDatabases } from "./frameworks/databases.js";
import { install, type Project, walk } from "./frameworks/project.js";
import { recipes } from "./frameworks/recipes.js";
import { type Column, printTable } from "./frameworks/table.js";

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    /** A package that is packed already, to save the build. */
    tarball: { type: "string" },
    /** Leaves the projects where they are. */
    keep: { type: "boolean", default: false },
  },
});
const run = promisify(execFile);
const SIDE_BY_SIDE = 2;
const NODES = [20, 24];
const EXPRESS = [4, 5] as const;

const names = values.only ?? Object.keys(recipes);
const unknown = names.filter((name) => !(name in recipes));
if (unknown.length > 0) {
  throw new Error(`there is no recipe ${unknown.join(", ")}; there are ${Object.keys(recipes).join(", ")}`);
}
process.exitCode = (await prove()) ? 0 : 1;

async function prove(): Promise<boolean> {
  const scratch = await mkdtemp(join(tmpdir(), "express-affiliate-frameworks-"));
  const needs = (what: "postgres" | "pgbouncer") => names.some((name) => recipes[name]?.[what]);
  const databases = needs("postgres") ? await startDatabases({ pgbouncer: needs("pgbouncer") }) : undefined;
  try {
    const tarball = values.tarball ? resolve(values.tarball) : await pack(scratch);
    const nodes = await Promise.all(NODES.map(nodeOf));
    const columns: Column[] = EXPRESS.flatMap((express) => NODES.map((node) => ({ express, node })));
    const cells = new Map<string, string>();
    let passed = 0;
    let failed = 0;

    const projects = names.flatMap((name) =>
      EXPRESS.filter((express) => recipes[name]?.express[express]).map(
        (express): Project => ({ name, express, folder: join(scratch, `${name}-express-${express}`) }),
      ),
    );
    const proveOne = async (project: Project) => {
      const { name, express } = project;
      const title = `${name} with Express ${express}`;
      const fails = (what: string, why: string) => console.log(`\n--- ${title}${what}\n${why}`);
      try {
        await install(project, { frameworks: resolve("test/frameworks"), tarball });
      } catch (error) {
        fails(" cannot be installed", `${error}`);
        failed += NODES.length;
        for (const node of NODES) cells.set(`${name} ${express} ${node}`, "FAILED");
        return;
      }
      for (const [nth, node] of NODES.entries()) {
        const { postgres, pgbouncer = false } = recipes[name] ?? {};
        const environment = postgres ? await databases?.create({ pgbouncer }) : {};
        const walked = await walk(project, nodes[nth] as string, environment ?? {});
        if (walked.isRight) passed++;
        else failed++;
        if (!walked.isRight) fails(` on Node ${node} fails`, walked.output);
        cells.set(`${name} ${express} ${node}`, walked.isRight ? `ok, ${walked.passed}` : "FAILED");
      }
      if (!values.keep) await rm(project.folder, { recursive: true, force: true });
    };
    const waiting = projects.values();
    await Promise.all(
      Array.from({ length: SIDE_BY_SIDE }, async () => {
        for (const project of waiting) await proveOne(project);
      }),
    );
    printTable(names, columns, cells);
    console.log(`${passed} passed, ${failed} failed`);
    return failed === 0 && passed > 0;
  } finally {
    await databases?.close();
    if (values.keep) console.log(`the projects are in ${scratch}`);
    else await rm(scratch, { recursive: true, force: true });
  }
}

async function pack(scratch: string): Promise<string> {
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", scratch]);
  // The build before it prints too.
  const [{ filename }] = JSON.parse(stdout.slice(stdout.lastIndexOf("[\n"))) as [{ filename: string }];
  return join(scratch, filename);
}

/** The program of this major of Node: the one that runs here, or one that is installed for it. */
async function nodeOf(major: number): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const { stdout } = await run(".ci/node", [String(major)]);
  return join(stdout.trim(), "node");
}
