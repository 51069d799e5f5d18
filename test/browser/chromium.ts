import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import axe, { type RunOptions } from "axe-core";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";
import { executablePath, FLAGS } from "./program.js";

/** If there is no browser, the tests say that they were skipped; in CI they fail. */
const hasChromium = existsSync(executablePath);
if (!hasChromium) {
  const skipped = `skipped: no Chromium at ${executablePath} (apt-get install chromium, or set CHROMIUM)`;
  if (process.env.CI) throw new Error(skipped);
  console.warn(skipped);
}

/** Where pictures are kept, which git ignores. */
export const screenshots = resolve(import.meta.dirname, "../../.screenshots");
mkdirSync(screenshots, { recursive: true });

/**
 * A page without cookies, closed with the test. Errors in its scripts fail the test. With options it
 * has a browser profile of its own, which takes a second to make.
 */
type OpenPage = (options?: BrowserContextOptions) => Promise<Page>;

/** Tests that share a browser. `openShopper`: as `openPage`, and a server takes it for no bot. */
export function describeInChromium(
  name: string,
  tests: (browser: { openPage: OpenPage; openShopper: OpenPage }) => void,
  args: readonly string[] = [],
): void {
  describe.skipIf(!hasChromium)(name, () => {
    let browser: Browser;
    let shared: BrowserContext;
    beforeAll(async () => {
      const flags = [...FLAGS, "--disable-background-networking", ...args];
      browser = await chromium.launch({ executablePath, args: flags });
      shared = await browser.newContext();
    });
    afterAll(() => browser.close());

    async function openPage(options?: BrowserContextOptions): Promise<Page> {
      const context = options ? await browser.newContext(options) : shared;
      const page = await context.newPage();
      const errors: unknown[] = [];
      page.on("pageerror", (error) => errors.push(error));
      onTestFinished(async () => {
        await page.close();
        if (context === shared) await context.clearCookies();
        else await context.close();
        if (errors.length > 0) throw new AggregateError(errors, "errors in the page");
      });
      return page;
    }
    // A headless browser says so in its user agent.
    const openShopper: OpenPage = (options) =>
      openPage({ ...options, userAgent: `Mozilla/5.0 (X11; Linux x86_64) Chrome/${browser.version()}` });

    tests({ openPage, openShopper });
  });
}

/** Keeps a picture of the whole page if `PICTURES` is set: it takes longer than most tests. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!process.env.PICTURES) return;
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}

/** Axe finds nothing in the page as it is now, and it is no wider than the window. */
export async function expectAccessible(page: Page, name: string): Promise<void> {
  await picture(page, name);
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations, isTooWide } = await page.evaluate(
    async (options) => ({
      violations: (await (globalThis as unknown as { axe: typeof axe }).axe.run(options)).violations,
      isTooWide: document.documentElement.scrollWidth > window.innerWidth,
    }),
    { resultTypes: ["violations"] } satisfies RunOptions,
  );
  const found = violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }));
  expect({ found, isTooWide }, name).toEqual({ found: [], isTooWide: false });
}

const wide = { width: 1280, height: 900 };
const narrow = { width: 390, height: 844 };
// Forced colours first: a page that Chromium loads under their emulation keeps a white canvas after it.
const looks = [
  ["forced", { colorScheme: "light", forcedColors: "active" }],
  ["light", { colorScheme: "light", forcedColors: "none" }],
  ["dark", { colorScheme: "dark", forcedColors: "none" }],
] as const;

/** As `expectAccessible`, in a wide and a narrow window, in each kind of colours. */
export async function expectAccessibleInEachLook(page: Page, name: string): Promise<void> {
  for (const [colours, media] of looks) {
    await page.emulateMedia(media);
    for (const viewport of [wide, narrow]) {
      await page.setViewportSize(viewport);
      await expectAccessible(page, `${name}-${colours}-${viewport.width}`);
    }
  }
}
