import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build, type Options } from "tsup";
import { onTestFinished } from "vitest";
import configs from "../../tsup.config.js";

const root = resolve(import.meta.dirname, "../..");

/** A folder in which `express-affiliate` is installed as this work tree builds it, gone with the test. */
export async function projectWithPackage(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), "sandbox-"));
  onTestFinished(() => rm(project, { recursive: true }));
  const modules = join(project, "node_modules");
  const installed = join(modules, "express-affiliate");
  await mkdir(installed, { recursive: true });
  await cp(join(root, "package.json"), join(installed, "package.json"));
  await symlink(join(root, "node_modules"), join(installed, "node_modules"));
  await build({
    ...([configs].flat() as Options[])[0],
    config: false,
    outDir: join(installed, "dist"),
    dts: false,
    clean: false,
    silent: true,
  });
  return project;
}
