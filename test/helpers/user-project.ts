import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { inject, onTestFinished } from "vitest";
import { scratchDirectory } from "./scratch.js";

const modules = resolve(import.meta.dirname, "../../node_modules");

/**
 * A user's project in which the built package, or a copy of it, is installed beside the packages
 * named.
 */
export async function userProject(
  files: Record<string, string>,
  packages = ["express"],
  { isCopied = false } = {},
): Promise<string> {
  const project = scratchDirectory();
  await mkdir(join(project, "node_modules"));
  const installed = join(project, "node_modules/express-affiliate");
  if (isCopied) await cp(inject("builtPackage"), installed, { recursive: true });
  else await symlink(inject("builtPackage"), installed);
  for (const name of packages) await linkPackage(project, name);
  for (const [name, content] of Object.entries(files)) await writeFile(join(project, name), content);
  return project;
}

/** Installs in a project a package that is installed here. */
export async function linkPackage(project: string, name: string): Promise<void> {
  const link = join(project, "node_modules", name);
  await mkdir(dirname(link), { recursive: true });
  await symlink(join(modules, name), link);
}

/**
 * Runs Node in a project, as it is or by another command; the process ends with the test, if it has
 * not before.
 */
export function runNode(
  project: string,
  args: string[],
  { by = [], ...options }: SpawnOptions & { by?: readonly string[] } = {},
): ChildProcess {
  const [command = "", ...all] = [...by, process.execPath, ...args];
  const child = spawn(command, all, { cwd: project, stdio: "pipe", ...options });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** All that a process printed, and how it ended. */
export async function outputOf(child: ChildProcess) {
  const [[code], stdout, stderr] = await Promise.all([
    once(child, "close"),
    text(child.stdout as Readable),
    text(child.stderr as Readable),
  ]);
  return { code: code as number | null, stdout, stderr };
}
