import { defineConfig } from "vitest/config";
import { projectsOf } from "./test/setup/projects.js";
import { common, run } from "./vitest.config.js";

// Ten times as many events, and in CI a machine that others use, too.
const test = { ...common.test, env: { TEST_SCALE: "full" }, testTimeout: 60_000 };

/** All tests, also those that take long, and the promises of delivery with more events and more time: `npm run test:full`. */
export default defineConfig({ test: { ...run, projects: projectsOf({ ...common, test }, { slow: true }) } });
