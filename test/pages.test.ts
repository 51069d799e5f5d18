import { createRequire } from "node:module";
import { join } from "node:path";
import express from "express";
import { dashboard } from "express-affiliate/dashboard";
import { createSandbox } from "express-affiliate/sandbox";
import { expect, inject, it, onTestFinished } from "vitest";
import { serve } from "./helpers/express.js";
import { startTracker } from "./helpers/tracker.js";

const dist = (file: string) => join(inject("builtPackage"), "dist", file);

async function dashboardAt(mount: typeof dashboard): Promise<string> {
  const tracker = startTracker();
  const { port } = await serve(express().use("/page", mount(tracker, { authorize: () => true })));
  return `http://127.0.0.1:${port}/page`;
}

async function inspectorAt(create: typeof createSandbox): Promise<string> {
  const sandbox = await create();
  onTestFinished(() => sandbox.close());
  return sandbox.inspectorUrl;
}

it.each([
  ["the dashboard, by import", async () => dashboardAt((await import(dist("dashboard.js"))).dashboard)],
  [
    "the dashboard, by require",
    () => dashboardAt(createRequire(import.meta.url)(dist("dashboard.cjs")).dashboard),
  ],
  ["the inspector", async () => inspectorAt((await import(dist("sandbox.js"))).createSandbox)],
])("the files of %s are in the built package as they are in the source", async (name, built) => {
  const urls = await Promise.all([
    name.startsWith("the dashboard") ? dashboardAt(dashboard) : inspectorAt(createSandbox),
    built(),
  ]);
  for (const file of ["", "style.css", "main.js"]) {
    const [expected, found] = await Promise.all(
      urls.map(async (url) => (await fetch(`${url}/${file}`)).text()),
    );
    expect(found, file).toBe(expected);
  }
});
