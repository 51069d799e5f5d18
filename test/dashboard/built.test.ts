import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import request from "supertest";
import { expect, inject, it } from "vitest";
import { pageScriptOf } from "../../inline-plugin.js";
import { startTracker } from "../helpers/tracker.js";

const src = resolve(import.meta.dirname, "../../src");

it.each(["import", "require"])(
  "its files are in the built package as they are in the source, by %s",
  async (how) => {
    const dist = join(inject("builtPackage"), "dist");
    const { dashboard }: typeof import("express-affiliate/dashboard") =
      how === "import"
        ? await import(join(dist, "dashboard.js"))
        : createRequire(import.meta.url)(join(dist, "dashboard.cjs"));
    const { default: express } = await import("express");
    const app = express().use(
      "/",
      dashboard(startTracker({ baseUrl: "http://127.0.0.1:1" }), { authorize: () => true }),
    );
    const files: [name: string, text: string][] = [
      ["", await readFile(join(src, "dashboard/browser/page.html"), "utf8")],
      ["style.css", await readFile(join(src, "dashboard/browser/style.css"), "utf8")],
      ["icon.svg", await readFile(join(src, "dashboard/browser/icon.svg"), "utf8")],
      ["base.css", await readFile(join(src, "browser/base.css"), "utf8")],
      ["main.js", await pageScriptOf(join(src, "dashboard/browser/main.js"))],
    ];
    for (const [name, expected] of files) {
      const { body, text } = await request(app).get(`/${name}`).expect(200);
      expect(text ?? String(body), name).toBe(expected);
    }
  },
);
