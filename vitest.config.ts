import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { inlineForVite } from "./inline-plugin.js";
import { turnOf } from "./proof/shared/turn.js";
import { isAll, isFull } from "./test/helpers/scale.js";
import { ALONE } from "./test/setup/alone.js";
import { fastTests } from "./test/setup/fast.js";
import tsconfig from "./tsconfig.json" with { type: "json" };

const ALL = "test/**/*.test.ts";
const SLOW = "test/**/*.slow.test.ts";
const BROWSER = "test/browser/**";
const SET_UP = ["receipts", "scratch", "seed"].map((name) => `test/setup/${name}.ts`);
const fast = fastTests().filter((file) => !ALONE.includes(file));

// Each takes 16 seconds or more on two slow cores.
const LONGEST = [
  ...["outbox/queue/contract", "outbox/contract", "delivery/promises", "delivery/promises-on-disk.slow"],
  ...["delivery/bodies", "delivery/unreachable"],
].map((name) => `/test/${name}.test.ts`);

/** Begins the longest files of a project first. Otherwise one of them runs alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(name));
    return [...new Set(sorted.map(({ project }) => project))].flatMap((project) => {
      const own = sorted.filter((each) => each.project === project);
      return [...own.filter(isLong), ...own.filter((each) => !isLong(each))];
    });
  }
}

/** A project is tests that run in one way. Each test file is in exactly one of them. */
function project(name: string, test: TestProjectInlineConfiguration["test"]): TestProjectInlineConfiguration {
  return {
    plugins: [inlineForVite],
    resolve: {
      // Tests and the example import the package by its name; here that is its source.
      alias: Object.entries(tsconfig.compilerOptions.paths).map(([id, [file = ""]]) => ({
        find: new RegExp(`^${id}$`),
        replacement: new URL(file, import.meta.url).pathname,
      })),
    },
    test: {
      name,
      setupFiles: SET_UP,
      // If a file runs its processes side by side.
      maxConcurrency: 3,
      testTimeout: isFull ? 60_000 : 20_000,
      hookTimeout: 60_000,
      // However busy the machine is: what is waited for comes, or it is wrong.
      expect: { poll: { timeout: 15_000, interval: 20 } },
      // Otherwise Vitest takes every style sheet for an empty one, the sandbox's page's too.
      css: true,
      ...test,
    },
  };
}

export default defineConfig({
  test: {
    globalSetup: ["test/setup/build.ts", "test/setup/servers.ts"],
    // Chosen by the commit; at night, and on a contributor's machine, by chance.
    env: process.env.CI && !isAll ? { PROPERTY_SEED: `${turnOf("properties", 2 ** 31)}` } : {},
    // The tests wait more than they work.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      // They start no server and no process. Like those of `together`, they share a process with the files that it ran before:
      // to start a process and to load every module anew takes longer than the tests of most files do.
      project("fast", {
        include: fast,
        isolate: false,
        setupFiles: [...SET_UP, "test/setup/no-server.ts"],
      }),
      project("together", { include: [ALL], exclude: [...fast, ...ALONE, SLOW, BROWSER], isolate: false }),
      project("alone", { include: [...ALONE] }),
      project("slow", { include: [SLOW], testTimeout: isAll ? 1_800_000 : 600_000 }),
      // In Chromium; CHROMIUM names another than Debian's.
      project("browser", { include: [`${BROWSER}/*.test.ts`], testTimeout: 60_000 }),
    ],
  },
});
