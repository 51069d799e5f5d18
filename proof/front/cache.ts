import { setTimeout as sleep } from "node:timers/promises";
import type { Express } from "express";
import { createSandbox } from "express-affiliate/sandbox";
import { request } from "undici";
import { browser } from "../../test/frameworks/kit/browser.js";
import type { Figure } from "../shared/figures.js";
import type { Part } from "../shared/part.js";
import { CHROME } from "./browser/chromium.js";
import { type CacheProgram, cachePrograms } from "./cache/programs.js";
import { countScene, emailOf, referenceOf } from "./shared/census.js";
import { startShop } from "./shared/shop.js";

type Browser = ReturnType<typeof browser>;

/** What the shop says of its pages, and how long after one visitor the next one comes. */
const PAGES: readonly { path: string; name: string; headers: Record<string, string>; waitMs?: number }[] = [
  { path: "/minute", name: "kept for a minute", headers: { "Cache-Control": "public, max-age=60" } },
  { path: "/cdn", name: "kept by a CDN", headers: { "Cache-Control": "public, s-maxage=60, max-age=0" } },
  { path: "/expires", name: "kept until Expires", headers: { Expires: "Fri, 01 Jan 2100 00:00:00 GMT" } },
  {
    path: "/own",
    name: "kept by a header of the cache's own",
    headers: { "Cache-Control": "max-age=60", "X-Accel-Expires": "60", "Surrogate-Control": "max-age=60" },
  },
  {
    path: "/second",
    name: "kept for a second, then revalidated behind",
    headers: { "Cache-Control": "public, max-age=1, stale-while-revalidate=60, stale-if-error=60" },
    waitMs: 600,
  },
];

function addPages(app: Express): void {
  for (const { path, headers } of PAGES) {
    app.get(path, (_req, res) => void res.set(headers).send("<title>Shop</title>"));
  }
}

/** What a browser sends when a person opens a page. */
const OPENS = {
  "user-agent": CHROME,
  accept: "text/html,application/xhtml+xml",
  "sec-fetch-dest": "document",
  "sec-fetch-mode": "navigate",
  "sec-fetch-site": "cross-site",
};

/** What asks for a page that no person opens. */
const OTHERS: readonly { method?: "GET" | "HEAD"; headers: Record<string, string> }[] = [
  { headers: { "user-agent": "curl/8.5.0", accept: "*/*" } },
  { method: "HEAD", headers: { "user-agent": "curl/8.5.0", accept: "*/*" } },
  { headers: { "user-agent": "facebookexternalhit/1.1", accept: "*/*" } },
  { headers: { "user-agent": "facebookexternalhit/1.1", accept: "*/*", range: "bytes=0-99" } },
  { headers: { "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)", accept: "text/html" } },
  {
    headers: {
      "user-agent": CHROME,
      accept: "image/*",
      "sec-fetch-dest": "image",
      "sec-fetch-mode": "no-cors",
    },
  },
  { headers: { ...OPENS, "sec-fetch-dest": "iframe" } },
  { headers: { ...OPENS, "sec-purpose": "prefetch" } },
  { headers: { ...OPENS, "sec-purpose": "prefetch;prerender" } },
  { headers: { ...OPENS, cookie: "consent=no" } },
];

/** What nginx says of a page that it had kept; also if it asks the shop anew meanwhile. */
const FROM_THE_CACHE = ["HIT", "STALE", "UPDATING"];

export default {
  title: "a shared cache before the shop, which allows it to keep its pages",
  async prove({ short }) {
    return (await Promise.all(cachePrograms.map((program) => prove(program, short ? 4 : 20)))).flat();
  },
} satisfies Part;

/** Visitors come through one link to each page. In between, others ask for it, and some reload. */
async function prove(program: CacheProgram, count: number): Promise<Figure[]> {
  const sandbox = await createSandbox();
  const shop = await startShop({
    sandbox,
    tracking: { consent: (req) => !req.get("cookie")?.includes("consent=no") },
    before: (app) => app.set("trust proxy", "loopback"),
    pages: addPages,
  });
  const cache = await program.start(shop.port);
  const scenes: (() => Figure[])[] = [];
  let hits = 0;

  for (const { path, name: page, waitMs = 0 } of PAGES) {
    const name = `${program.name}: ${page}`;
    const reference = referenceOf(name, "a");
    const link = `${path}?ref=${reference}`;
    const callers: Browser[] = [];
    for (let nth = 0; nth < count; nth++) {
      await askAsOthers(`${cache.url}${link}`);
      const caller = browser(cache.url);
      await open(caller, link);
      callers.push(caller);
      await open(callers[nth >> 1] ?? caller, link);
      await sleep(waitMs);
    }
    const visitors = await Promise.all(
      callers.map(async (caller, nth) => {
        const email = emailOf(name, nth);
        await signUpAndPay(caller, email);
        return { email, clicks: [reference], credited: reference };
      }),
    );
    await shop.tracker.flush({ timeoutMs: 60_000 });
    // At the end: what must not count has some time in which it could.
    scenes.push(() => countScene(name, visitors, sandbox.ledger));

    // The cache is at work: the same page without a reference comes from it.
    await open(browser(cache.url), path);
    if (FROM_THE_CACHE.includes(await open(browser(cache.url), path))) hits++;
  }

  await shop.close();
  await cache.stop();
  const counted = scenes.flatMap((count) => count());
  await sandbox.close();
  const what = `${program.name}: pages without a reference that came from the cache`;
  return [...counted, { what, measured: hits, atLeast: PAGES.length }];
}

/** Asks as bots, link previews, pages around it and browsers ahead of their visitors do. */
async function askAsOthers(address: string): Promise<void> {
  for (const { method = "GET", headers } of OTHERS) {
    await (await request(address, { method, headers })).body.dump();
  }
}

/** Opens a page in a browser. Resolves to what the cache says of it. */
async function open(caller: Browser, path: string): Promise<string> {
  return String((await caller.send("GET", path, OPENS)).headers["x-cache"]);
}

async function signUpAndPay(caller: Browser, email: string): Promise<void> {
  for (const path of ["/signup", "/checkout", "/checkout"]) {
    const happened = { email, order: `order of ${email}` };
    const { status } = await caller.post(path, happened, { "user-agent": CHROME });
    if (status >= 400) throw new Error(`${path} answered ${status}`);
  }
}
