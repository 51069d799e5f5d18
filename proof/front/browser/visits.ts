import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { emailOf, referenceOf } from "../shared/census.js";
import { asLonelyVisitor, asVisitor } from "./chromium.js";
import { type Scenario, signUpAndPay, type World } from "./world.js";

/** After this a browser that was to prerender a page, and has asked for nothing, will not. */
const DECLINED_MS = 60_000;

/** The visitor's link to the shop, and the rest of a visit once the landing page is open. */
interface Visit {
  readonly world: World;
  readonly page: Page;
  /** The shop's address with this visitor's own reference of an affiliate. Default: of `a`. */
  link(affiliate?: string, path?: string): string;
}

/** A visitor opens the shop through links, signs up and pays. By default one link counts. */
export function scenario(
  name: string,
  open: (visit: Visit) => Promise<unknown>,
  {
    clicks = ["a"],
    credited = "a",
    apiOf = () => "",
    comes = true,
  }: {
    clicks?: readonly string[];
    credited?: string;
    apiOf?: (world: World) => string;
    comes?: boolean;
  } = {},
): Scenario {
  return {
    name,
    visit: (world, nth) =>
      asVisitor(world.browser, async (page) => {
        const email = emailOf(name, nth);
        const reference = (affiliate: string) => referenceOf(name, `${affiliate}${nth}`);
        const link = (affiliate = "a", path = "/") => `${world.shop}${path}?ref=${reference(affiliate)}`;
        await open({ world, page, link });
        if (!comes) return undefined;
        await signUpAndPay(page, email, apiOf(world));
        return { email, clicks: clicks.map(reference), credited: reference(credited) };
      }),
  };
}

/** A link that the browser asks for ahead, and that its visitor follows or does not. */
export function aheadScenarios(how: string, what: string, from: (world: World) => string): Scenario[] {
  const askAhead = async ({ world, page, link }: Visit) => {
    await page.goto(world.page(from(world), link(), { ahead: how }));
    await world.aheadOf(link().slice(world.shop.length));
  };
  return [
    scenario(`${what}, opened`, async (visit) => {
      await askAhead(visit);
      await follow(visit.page);
    }),
    scenario(`${what}, never opened`, askAhead, { comes: false }),
  ];
}

/** The same in a browser that prerenders. */
export function prerenderScenarios(from: (world: World) => string, what: string): Scenario[] {
  return [true, false].map((opens) => {
    const name = `${what}, ${opens ? "opened" : "never opened"}`;
    return {
      name,
      async visit(world, nth) {
        const email = emailOf(name, nth);
        const walked = world.walked(email);
        // Chromium may decline.
        for (let times = 0; times < 3; times++) {
          const reference = referenceOf(name, `a${nth}.${times}`);
          const query = `/?ref=${reference}&walker=${email}`;
          const address = world.page(from(world), `${world.shop}${query}`, { ahead: "prerender", opens });
          const isAhead = world.aheadOf(reference).then(() => true);
          const isAsked = Promise.race([isAhead, sleep(DECLINED_MS, false)]);
          // A page that must not count has some time in which it could.
          await asLonelyVisitor(address, async () => (await isAsked) && (opens ? walked : sleep(500)));
          if (await isAsked) return opens ? { email, clicks: [reference], credited: reference } : undefined;
        }
        throw new Error("Chromium prerenders nothing");
      },
    };
  });
}

/** Follows the link on a blog's page, as a person does. */
export async function followOn(address: string, page: Page): Promise<void> {
  await page.goto(address);
  await follow(page);
}

async function follow(page: Page): Promise<void> {
  await page.click("#go");
  await page.waitForURL((url) => url.pathname !== "/blog");
}
