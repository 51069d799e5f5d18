import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import request from "supertest";
import { expect, inject, it } from "vitest";
import { startTracker } from "../helpers/tracker.js";

const src = resolve(import.meta.dirname, "../../src");

it.each(["import", "require"])(
  "its files are in the built package as they are in the source, by %s",
  async (how) => {
    const dist = join(inject("builtPackage"), "dist");
    const { dashboard }: typeof import("../../src/dashboard/index.js") =
      how === "import"
        ? await import(join(dist, "dashboard.js"))
        : createRequire(import.meta.url)(join(dist, "dashboard.cjs"));
    const { default: express } = await import("express");
    const app = express().use(
      "/",
      dashboard(startTracker({ baseUrl: "http://127.0.0.1:1" }), { authorize: () => true }),
    );
    const folders = [join(src, "dashboard/browser"), join(src, "browser")];
    const files = await Promise.all(
      folders.map(async (folder) =>
        (await readdir(folder)).map((name) => ({ name, path: join(folder, name) })),
      ),
    );
    for (const { name, path } of files.flat()) {
      if (name.endsWith(".d.ts")) continue;
      const { body, text } = await request(app)
        .get(name === "page.html" ? "/" : `/${name}`)
        .expect(200);
      expect(text ?? String(body), name).toBe(await readFile(path, "utf8"));
    }
  },
);
