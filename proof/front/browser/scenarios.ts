import { aheadScenarios, followOn, prerenderScenarios, scenario } from "./visits.js";
import type { Scenario, World } from "./world.js";

const fromBlog = (world: World) => world.blog;
const fromShop = (world: World) => world.shop;

// A page that the cache brings back loads nothing.
const RESTORED = { waitUntil: "commit" } as const;

const LINK_PREVIEWS = [
  "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
  "WhatsApp/2.23.20.0",
  "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
];

export const scenarios: readonly Scenario[] = [
  scenario("a link", ({ page, link }) => page.goto(link())),
  scenario("a link on another site", ({ world, page, link }) =>
    followOn(world.page(world.blog, link()), page),
  ),
  scenario("a link in a new tab, through a short link", ({ world, page, link }) =>
    followOn(world.page(world.blog, `/short?${new URLSearchParams({ to: link() })}`), page),
  ),
  scenario("a page that redirects with the reference", ({ page, link }) => page.goto(link("a", "/old"))),
  scenario("a link to any page", ({ page, link }) => page.goto(link("a", "/about.html"))),
  scenario("reloaded", async ({ page, link }) => {
    await page.goto(link());
    for (let n = 0; n < 3; n++) await page.reload();
  }),
  scenario("opened again and again", async ({ page, link }) => {
    for (let n = 0; n < 3; n++) await page.goto(link());
  }),
  scenario("back and forward", async ({ page, link }) => {
    await page.goto(link());
    await page.evaluate(() =>
      addEventListener("pageshow", ({ persisted }) => Object.assign(window, { persisted })),
    );
    await page.click("#about");
    await page.waitForURL("**/about.html");
    await page.goBack(RESTORED);
    // A back and forward cache.
    await page.waitForFunction("window.persisted");
    await page.goForward(RESTORED);
    await page.goBack(RESTORED);
  }),
  scenario(
    "two links that alternate",
    async ({ page, link }) => {
      for (const affiliate of ["a", "b", "a", "b", "a", "b"]) await page.goto(link(affiliate));
    },
    { clicks: ["a", "b"], credited: "b" },
  ),
  ...aheadScenarios("prefetch", "prefetched on another site", fromBlog),
  ...aheadScenarios("prefetch", "prefetched on this site", fromShop),
  scenario("prefetched as the link is pressed, on a slow shop", ({ world, page, link }) =>
    followOn(world.page(world.shop, link("a", "/slow"), { ahead: "prefetch-when-pressed" }), page),
  ),
  scenario("a link that is double-clicked, on a slow shop", async ({ world, page, link }) => {
    await page.goto(world.page(world.blog, link("a", "/slow")));
    await page.dblclick("#go");
    await page.waitForURL((url) => url.pathname !== "/blog");
  }),
  ...aheadScenarios("link-prefetch", "link rel=prefetch", fromShop),
  ...prerenderScenarios(fromShop, "prerendered on this site"),
  ...prerenderScenarios(fromBlog, "prerendered on another site"),
  scenario("previews, an image and a frame before", async ({ world, page, link }) => {
    for (const userAgent of LINK_PREVIEWS) {
      await fetch(link().replace("shop.localhost", "127.0.0.1"), {
        headers: { "user-agent": userAgent, accept: "text/html" },
      });
    }
    for (const ahead of ["image", "frame"]) await page.goto(world.page(world.blog, link(), { ahead }));
    await followOn(world.page(world.shop, link(), { ahead: "image" }), page);
  }),
  scenario("an image of a page that browsers keep for a minute", ({ world, page, link }) =>
    followOn(world.page(world.shop, link("a", "/minute"), { ahead: "image" }), page),
  ),
  scenario("https and HTTP/2, behind nginx", async ({ world, page, link }) => {
    await page.goto(link().replace(world.shop, world.secure));
    const names = (await page.context().cookies()).filter(({ secure }) => secure).map(({ name }) => name);
    if (names.length !== 2) throw new Error(`secure cookies: ${names}`);
  }),
  ...["fetch", "preload", "stale-while-revalidate"].map((how) =>
    scenario(`a service worker: ${how}`, async ({ world, page, link }) => {
      await page.goto(world.shop);
      await page.evaluate(async (how) => {
        const controlled = new Promise((resolve) =>
          navigator.serviceWorker.addEventListener("controllerchange", resolve),
        );
        await navigator.serviceWorker.register(`/sw.js?how=${how}`);
        await controlled;
      }, how);
      await page.goto(world.shop);
      await page.goto(link());
    }),
  ),
  scenario("an app whose API is on another port", ({ page, link }) => page.goto(link()), {
    apiOf: (world) => world.otherPort,
  }),
];
