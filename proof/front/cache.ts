import { setTimeout as sleep } from "node:timers/promises";
import type { Express } from "express";
import type { Figure } from "../world/shared/part.js";
import { type CacheProgram, cachePrograms } from "./cache/programs.js";
import { askAsOthers, Caller } from "./cache/requests.js";
import { countScene, emailOf, referenceOf } from "./shared/census.js";
import type { Part, Scene } from "./shared/part.js";
import { startService, startShop } from "./shared/shop.js";

/** What the shop says of its pages, and how long its visitors wait before they come. */
const PAGES = [
  { path: "/minute", name: "kept for a minute", cacheControl: "public, max-age=60", waitMs: 0 },
  { path: "/cdn", name: "kept by a CDN", cacheControl: "public, s-maxage=60, max-age=0", waitMs: 0 },
  {
    path: "/second",
    name: "kept for a second, then revalidated behind",
    cacheControl: "public, max-age=1, stale-while-revalidate=60, stale-if-error=60",
    waitMs: 600,
  },
];

function addPages(app: Express): void {
  for (const { path, cacheControl } of PAGES) {
    app.get(path, (_req, res) => void res.set("Cache-Control", cacheControl).send("<title>Shop</title>"));
  }
}

export default {
  title: "a shared cache before the shop, which allows it to keep its pages",
  async prove({ short }) {
    const parts = await Promise.all(cachePrograms.map((program) => prove(program, short ? 4 : 20)));
    return {
      scenes: parts.flatMap(({ scenes }) => scenes),
      figures: parts.flatMap(({ figures }) => figures),
    };
  },
} satisfies Part;

/** Visitors come through one link to each page. Between any two of them, others ask for it, and earlier ones reload. */
async function prove(program: CacheProgram, count: number): Promise<{ scenes: Scene[]; figures: Figure[] }> {
  const sandbox = await startService();
  const shop = await startShop({
    sandbox,
    tracking: { consent: (req) => !req.get("cookie")?.includes("consent=no") },
    before: (app) => app.set("trust proxy", "loopback"),
    pages: addPages,
  });
  const cache = await program.start(shop.port);
  const scenes: (() => Scene)[] = [];
  const figures: Figure[] = [];

  for (const { path, name: page, waitMs } of PAGES) {
    const name = `${program.name}: ${page}`;
    const reference = referenceOf(name, "a");
    const link = `${cache.url}${path}?ref=${reference}`;
    const callers: Caller[] = [];
    for (let nth = 0; nth < count; nth++) {
      await askAsOthers(link);
      const caller = new Caller();
      await caller.open(link);
      callers.push(caller);
      await callers[nth >> 1]?.open(link);
      await sleep(waitMs);
    }
    const visitors = await Promise.all(
      callers.map(async (caller, nth) => {
        const email = emailOf(name, nth);
        await caller.signUpAndPay(cache.url, email);
        return { email, clicks: [reference], credited: reference };
      }),
    );
    scenes.push(() => countScene(name, visitors, sandbox.ledger));

    const kept = [
      await new Caller().open(`${cache.url}${path}`),
      await new Caller().open(`${cache.url}${path}`),
    ];
    figures.push({
      what: `${name}: the same page without a reference comes from the cache`,
      measured: kept.filter((said) => said === "HIT").length,
      atLeast: 1,
    });
  }

  await shop.close();
  await cache.stop();
  const counted = scenes.map((count) => count());
  await sandbox.close();
  return { scenes: counted, figures };
}
