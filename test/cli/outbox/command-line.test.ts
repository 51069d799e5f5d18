import { join } from "node:path";
import { expect, it } from "vitest";
import { outputOf, runNode, userProject } from "../../helpers/user-project.js";
import { directoryWith } from "./helpers.js";

const CLI = "node_modules/express-affiliate/dist/cli.cjs";

// A package is looked for beside its link, not beside what that leads to: there everything is
// installed.
const BY_LINKS = ["--preserve-symlinks", "--preserve-symlinks-main"];
const DEPENDENCIES = ["undici", "zod", "fastest-levenshtein"];
const DATABASE = "postgres://shop:pa55word@127.0.0.1:1/shop";

it("the command `outbox` needs pg for a Postgres URL alone, and says so", async () => {
  const project = await userProject({}, [...DEPENDENCIES, "@photostructure/sqlite", "node-gyp-build"]);
  const cli = (...args: string[]) => outputOf(runNode(project, [...BY_LINKS, CLI, "outbox", ...args]));

  expect(await cli(DATABASE, "status")).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^outbox: a Postgres URL needs the package pg, .*: npm install pg \(.*\n$/),
  });
  const idle = { code: 0, stdout: "ok      nothing waits\nok      no dead letters\n", stderr: "" };
  expect(await cli(await directoryWith(), "status")).toEqual(idle);
});

it("the command `outbox` finds the pg of the project in which it is started", async () => {
  const installed = await userProject({}, DEPENDENCIES);
  const pool = `{
    on() {}
    removeListener() {}
    connect(callback) { callback(new Error("this is the project's pg")); }
    async end() {}
    query() {}
  }`;
  const project = await userProject({ "node_modules/pg.js": `exports.Pool = class ${pool};` }, []);
  const env = { ...process.env, DATABASE_URL: DATABASE };
  const args = [...BY_LINKS, join(installed, CLI), "outbox", "--url-env", "DATABASE_URL", "status"];

  expect(await outputOf(runNode(project, args, { env }))).toEqual({
    code: 1,
    stdout: "",
    stderr: "outbox: this is the project's pg\n",
  });
});
