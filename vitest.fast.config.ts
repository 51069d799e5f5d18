import { defineConfig, mergeConfig } from "vitest/config";
import { fastTests } from "./test/setup/fast.js";
import base from "./vitest.config.js";

/** The tests that start no server and no process: `npm run test:fast`. */
const config = mergeConfig(base, defineConfig({ test: { setupFiles: ["test/setup/alone.ts"] } }));
config.test = { ...config.test, include: fastTests(), globalSetup: [] };

export default config;
