import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.js";

/** The tests in a real browser: `npm run test:browser`. They need Chromium; CHROMIUM names another than Debian's. */
const config = mergeConfig(base, defineConfig({ test: { testTimeout: 60_000 } }));
config.test = { ...config.test, include: ["test/browser/**/*.test.ts"], exclude: [] };

export default config;
