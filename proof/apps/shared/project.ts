import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { root } from "../../../test/helpers/docs/pages.js";
import { nodeOf, npmFlags } from "../../shared/packed.js";
import { runCommand } from "../../shared/program.js";
import type { App } from "./app.js";

/** Versions that were published later are not installed, so that a run is as the one before. */
const PUBLISHED_BEFORE = "2026-11-25";
const CACHE = join(root, "node_modules/.cache/apps");

/** The folder of an app, and what is done in it. */
export interface Project {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Runs a command in the project's folder, or in one below it. */
  run(command: readonly string[], below?: string): Promise<string>;
  /** `npm install` of packages with exact versions; without any, of what package.json says. */
  install(packages?: Readonly<Record<string, string>>, below?: string): Promise<void>;
  read(path: string): Promise<string>;
  write(path: string, text: string): Promise<void>;
}

export async function openProject(
  folder: string,
  node: number | undefined,
  environment: Readonly<Record<string, string>> = {},
): Promise<Project> {
  const env = await environmentOn(node, { ...environment });
  const run = (command: readonly string[], below = ".") =>
    runCommand(command, { cwd: join(folder, below), env });
  return {
    folder,
    environment: env,
    run,
    async install(packages = {}, below) {
      const specs = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
      await run(["npm", "install", "--save-exact", ...npmFlags, ...specs], below);
    },
    read: (path) => readFile(join(folder, path), "utf8"),
    async write(path, text) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    },
  };
}

/** Makes the app in this folder, or copies what an earlier run made by the same steps. */
export async function makeApp(name: string, app: App, folder: string): Promise<{ isCached: boolean }> {
  const key = createHash("sha256")
    .update(await stepsOf(app))
    .digest("hex");
  const kept = join(CACHE, name, key.slice(0, 16));
  const isCached = existsSync(kept);
  if (!isCached) {
    await rm(join(CACHE, name), { recursive: true, force: true });
    const making = join(CACHE, name, "making");
    await mkdir(making, { recursive: true });
    await app.make(await openProject(making, app.node, { npm_config_before: PUBLISHED_BEFORE }));
    await runCommand(["mv", making, kept], { cwd: root, env: process.env });
  }
  await copy(kept, folder);
  return { isCached };
}

/** All that `make` does, as a text. */
async function stepsOf({ make, node }: App): Promise<string> {
  const steps: unknown[] = [node, PUBLISHED_BEFORE];
  const note = async (...step: unknown[]) => {
    steps.push(step);
  };
  const noteAndAnswer = (...step: unknown[]) => note(...step).then(() => "");
  await make({
    ...{ folder: "", environment: {}, run: noteAndAnswer, read: noteAndAnswer },
    ...{ install: note, write: note },
  });
  return JSON.stringify(steps);
}

/** Packages as hard links, since nothing writes into them; what the patch may change as copies. */
async function copy(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    if (entry.name === "node_modules") {
      await link(source, to);
      // npm writes this one in place.
      const list = join(entry.name, ".package-lock.json");
      await rm(join(to, list), { force: true });
      if (existsSync(join(from, list))) await cp(join(from, list), join(to, list));
    } else if (entry.isDirectory()) await copy(source, join(to, entry.name));
    else await cp(source, join(to, entry.name), { verbatimSymlinks: true });
  }
}

async function link(source: string, folder: string): Promise<void> {
  const options = { cwd: folder, env: process.env };
  try {
    await runCommand(["cp", "-al", source, folder], options);
  } catch {
    // Another disk.
    await runCommand(["cp", "-a", source, folder], options);
  }
}

async function environmentOn(node: number | undefined, more: Record<string, string>) {
  const programs = dirname(await nodeOf(node ?? Number.parseInt(process.versions.node, 10)));
  return {
    ...process.env,
    PATH: [programs, process.env.PATH].join(delimiter),
    NO_COLOR: "1",
    // No installation, and no app, calls home.
    DO_NOT_TRACK: "1",
    NEXT_TELEMETRY_DISABLED: "1",
    ...more,
  };
}
