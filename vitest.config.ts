import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { inlineForVite } from "./inline-plugin.js";
import { projectsOf } from "./test/setup/projects.js";

/** What all tests have in common, those in a browser too. */
export const common: TestProjectInlineConfiguration = {
  plugins: [inlineForVite],
  resolve: {
    // The example imports the package by its name; here that is its source.
    alias: Object.entries({
      "express-affiliate": "src/index.ts",
      "express-affiliate/disk": "src/outbox/disk/index.ts",
      "express-affiliate/postgres": "src/outbox/postgres/index.ts",
      "express-affiliate/mysql": "src/outbox/mysql/index.ts",
      "express-affiliate/sandbox": "src/sandbox/index.ts",
      "express-affiliate/dashboard": "src/dashboard/index.ts",
      "express-affiliate/testing": "src/testing/index.ts",
      "express-affiliate/outbox": "src/outbox/index.ts",
    }).map(([name, file]) => ({
      find: new RegExp(`^${name}$`),
      replacement: new URL(file, import.meta.url).pathname,
    })),
  },
  test: {
    // Where a file runs its processes side by side.
    maxConcurrency: 3,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // However busy the machine is: what is waited for comes, or it is wrong.
    expect: { poll: { timeout: 15_000, interval: 20 } },
    // Else Vitest takes every style sheet for an empty one, the sandbox's page's too.
    css: true,
  },
};

/** What is set for the whole run. */
export const run = {
  globalSetup: ["test/setup/build.ts", "test/setup/servers.ts"],
  // The tests wait more than they work.
  maxWorkers: 3,
};

export default defineConfig({ test: { ...run, projects: projectsOf(common) } });
