import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { outputOf, runNode, userProject } from "./helpers/user-project.js";

const { exports: entries } = JSON.parse(readFileSync(join(inject("builtPackage"), "package.json"), "utf8"));
const names = Object.keys(entries)
  .filter((entry) => !entry.endsWith(".json"))
  .map((entry) => entry.replace(".", "express-affiliate"));

/** Loads each entry, and prints what it has changed of what belongs to the host. */
const loadingBy = (load: string) => `
import { createRequire } from "node:module";
import * as z from "zod";
const require = createRequire(import.meta.url);
// Node loads its own undici, which is global, when one of these is read.
void [Headers, Request, Response];
const german = z.config(z.locales.de()).localeError;
const state = () => [...Reflect.ownKeys(globalThis), ...Reflect.ownKeys(process), ...Reflect.ownKeys(process.env)].map(String)
  .concat(process.eventNames().map((name) => "on " + String(name)));
for (const name of ${JSON.stringify(names)}) {
  const before = new Set(state());
  ${load};
  const added = state().filter((each) => !before.has(each));
  console.log(JSON.stringify({ name, added, sameZod: z.config().localeError === german }));
}
`;

it.each([
  ["imported", "await import(name)"],
  ["required", "require(name)"],
])("an entry that is %s changes nothing that is global, nor the host's zod", async (_how, load) => {
  const project = await userProject({ "load.mjs": loadingBy(load) }, ["zod"]);
  const { stdout, stderr } = await outputOf(runNode(project, ["load.mjs"]));
  expect(stderr).toBe("");
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(names.map((name) => ({ name, added: [], sameZod: true })));
});
