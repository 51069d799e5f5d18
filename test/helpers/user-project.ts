import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { inject, onTestFinished } from "vitest";

const modules = resolve(import.meta.dirname, "../../node_modules");

/**
 * A user's project in which the built package is installed beside the packages named; gone with the
 * test.
 */
export async function userProject(files: Record<string, string>, packages = ["express"]): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), "express-affiliate-"));
  onTestFinished(() => rm(project, { recursive: true, force: true }));
  await mkdir(join(project, "node_modules"));
  await symlink(inject("builtPackage"), join(project, "node_modules/express-affiliate"));
  for (const name of packages) {
    const link = join(project, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(modules, name), link);
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(project, name), text);
  return project;
}

/** Runs Node in a project; the process ends with the test, if it has not before. */
export function runNode(project: string, args: string[], options: SpawnOptions = {}): ChildProcess {
  const child = spawn(process.execPath, args, { cwd: project, stdio: "pipe", ...options });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** All that a process printed, and how it ended. */
export async function outputOf(
  child: ChildProcess,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}
