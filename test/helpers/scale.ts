/**
 * How much a run tries. `npm run test:full` tries more events, more visitors and more time; with
 * `TEST_SCALE=all` also what it otherwise tries in turn, commit by commit. `npm test` starts no
 * database server but one PostgreSQL. A file that is run alone starts what it needs.
 */
const { TEST_SCALE } = process.env;

export const isAll = TEST_SCALE === "all";
export const isFull = TEST_SCALE === "full" || isAll;

/**
 * Whether tests with a database server are left out: those that need another one than the PostgreSQL
 * that all files share, in `npm test`; all, if the server is not on this machine. Under CI, a test
 * that is not run counts as one that fails.
 */
export function isLeftOut(name: string, server: string, isThere: boolean, isShared: boolean): boolean {
  if (TEST_SCALE === "short" && !isShared) return true;
  if (isThere || process.env.CI) return false;
  console.warn(`skipped, for there is no ${server} server on this machine: ${name}`);
  return true;
}
