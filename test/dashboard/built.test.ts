import { createRequire } from "node:module";
import { join } from "node:path";
import express from "express";
import { dashboard } from "express-affiliate/dashboard";
import request from "supertest";
import { expect, inject, it } from "vitest";
import { startTracker } from "../helpers/tracker.js";

const dist = join(inject("builtPackage"), "dist");

it.each([
  ["import", () => import(join(dist, "dashboard.js"))],
  ["require", () => createRequire(import.meta.url)(join(dist, "dashboard.cjs"))],
])("its files are in the built package as they are in the source, by %s", async (_, load) => {
  const built: typeof import("express-affiliate/dashboard") = await load();
  const tracker = startTracker({ baseUrl: "http://127.0.0.1:1" });
  const app = express();
  app.use("/source", dashboard(tracker, { authorize: () => true }));
  app.use("/built", built.dashboard(tracker, { authorize: () => true }));
  for (const file of ["", "base.css", "style.css", "icon.svg", "main.js"]) {
    const [expected, found] = await Promise.all(
      ["source", "built"].map((path) => request(app).get(`/${path}/${file}`).expect(200)),
    );
    expect(found?.text ?? String(found?.body), file).toBe(expected?.text ?? String(expected?.body));
  }
});
