import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { nodeOf, npmFlags } from "../../shared/packed.js";
import { runCommand } from "../../shared/program.js";

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
  const programs = dirname(await nodeOf(node ?? Number.parseInt(process.versions.node, 10)));
  const env = {
    ...process.env,
    PATH: [programs, process.env.PATH].join(delimiter),
    NO_COLOR: "1",
    // No installation, and no app, calls home.
    DO_NOT_TRACK: "1",
    NEXT_TELEMETRY_DISABLED: "1",
    ...environment,
  };
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
