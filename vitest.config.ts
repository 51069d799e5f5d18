import { defineConfig } from "vitest/config";
import { inlineForVite } from "./inline-plugin.js";

export default defineConfig({
  plugins: [inlineForVite],
  resolve: {
    // The example imports the package by its name; here that is its source.
    alias: [
      { find: /^express-affiliate$/, replacement: new URL("src/index.ts", import.meta.url).pathname },
      {
        find: /^express-affiliate\/postgres$/,
        replacement: new URL("src/postgres.ts", import.meta.url).pathname,
      },
      {
        find: /^express-affiliate\/sandbox$/,
        replacement: new URL("src/sandbox/index.ts", import.meta.url).pathname,
      },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/browser/**"],
    globalSetup: ["test/setup/build.ts"],
    testTimeout: 20_000,
    // Else Vitest takes every style sheet for an empty one, the sandbox's page's too.
    css: true,
  },
});
