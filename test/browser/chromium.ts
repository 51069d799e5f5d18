import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Whether there is a browser to test in. Where there is none, the tests say that they were skipped; in CI they fail. */
export const hasChromium = existsSync(executablePath);
if (!hasChromium) {
  const skipped = `skipped: no Chromium at ${executablePath} (apt-get install chromium, or set CHROMIUM)`;
  if (process.env.CI) throw new Error(skipped);
  console.warn(skipped);
}

/** Where pictures are kept, which git ignores. */
export const screenshots = resolve(import.meta.dirname, "../../.screenshots");
mkdirSync(screenshots, { recursive: true });

export function launch(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...args,
    ],
  });
}

/** A page in a visitor's own browser profile, closed with the test. Errors in its scripts fail the test. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const errors: Error[] = [];
  page.on("pageerror", (error) => errors.push(error));
  onTestFinished(async () => {
    await context.close();
    if (errors.length > 0) throw new AggregateError(errors, "errors in the page");
  });
  return page;
}

/** Keeps a picture of the whole page. */
export async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}

/** What axe finds in the page as it is now, and a picture of it. */
export async function expectAccessible(page: Page, name: string): Promise<void> {
  await picture(page, name);
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  expect(
    violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) })),
    name,
  ).toEqual([]);
}

/** Whether all of the page is as wide as the window at most. */
export function fits(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
}
