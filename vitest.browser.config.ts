import { defineConfig } from "vitest/config";
import { common, run } from "./vitest.config.js";

const test = {
  ...common.test,
  name: "browser",
  testTimeout: 60_000,
  include: ["test/browser/**/*.test.ts"],
  setupFiles: ["test/setup/scratch.ts"],
};

/** The tests in a real browser: `npm run test:browser`. They need Chromium; CHROMIUM names another than Debian's. */
export default defineConfig({ test: { ...run, projects: [{ ...common, test }] } });
