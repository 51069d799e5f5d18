import type { TestProjectInlineConfiguration } from "vitest/config";

/** They replace modules, measure the heap or set what is global: each of them gets a process of its own. */
export const ALONE: readonly string[] = [
  "test/docs/monitoring.test.ts",
  "test/engine/messages.test.ts",
  "test/events.test.ts",
  "test/outbox/disk/thread.test.ts",
  "test/outbox/memory/memory-outbox.test.ts",
  "test/sandbox/sqlite.test.ts",
];
const SLOW = "test/**/*.slow.test.ts";

interface Selection {
  /** The only files to run; all are without it. */
  readonly files?: readonly string[];
  /** Whether those that take long are run too. */
  readonly slow?: boolean;
  /** What is run before the tests of each file. */
  readonly setupFiles?: readonly string[];
}

/**
 * Most files share a process with the files that it ran before: to start a process and to load every module anew takes
 * longer than the tests of most files do.
 */
export function projectsOf(
  common: TestProjectInlineConfiguration,
  { files, slow = false, setupFiles = [] }: Selection = {},
): TestProjectInlineConfiguration[] {
  const test = { ...common.test, setupFiles: ["test/setup/scratch.ts", ...setupFiles] };
  const alone = files?.filter((file) => ALONE.includes(file)) ?? [...ALONE, ...(slow ? [SLOW] : [])];
  const together = {
    isolate: false,
    include: [...(files ?? ["test/**/*.test.ts"])],
    exclude: ["test/browser/**", SLOW, ...ALONE],
  };
  return [
    { ...common, test: { ...test, name: "alone", include: alone } },
    { ...common, test: { ...test, name: "together", ...together } },
  ];
}
