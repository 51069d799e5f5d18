import { defineConfig } from "vitest/config";
import { fastTests } from "./test/setup/fast.js";
import { projectsOf } from "./test/setup/projects.js";
import { common, run } from "./vitest.config.js";

const projects = projectsOf(common, { files: fastTests(), setupFiles: ["test/setup/alone.ts"] });

/** The tests that start no server and no process: `npm run test:fast`. */
export default defineConfig({ test: { ...run, globalSetup: [], projects } });
