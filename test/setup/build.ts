import { cp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "tsup";
import type { TestProject } from "vitest/node";
import { code } from "../../tsup.config.js";
import { isFast } from "./fast.js";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the package as a user installs it, built from this work tree. */
    builtPackage: string;
  }
}

const root = resolve(import.meta.dirname, "../..");

/**
 * Builds the package once, beside the work tree's `dist`, for the tests that run what a user would
 * run.
 */
export default async function buildPackage(project: TestProject): Promise<void> {
  if (isFast(project)) return;
  const builtPackage = join(root, "node_modules/.cache/express-affiliate");
  await rm(builtPackage, { recursive: true, force: true });
  for (const config of code)
    await build({ ...config, config: false, outDir: join(builtPackage, "dist"), silent: true });
  await cp(join(root, "package.json"), join(builtPackage, "package.json"));
  project.provide("builtPackage", builtPackage);
}
