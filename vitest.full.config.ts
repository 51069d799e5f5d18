import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.js";

/** All tests, also those that take long, and the promises of delivery with more events and more time: `npm run test:full`. */
const config = mergeConfig(base, defineConfig({ test: { env: { TEST_SCALE: "full" } } }));
config.test = { ...config.test, exclude: ["test/browser/**"] };

export default config;
