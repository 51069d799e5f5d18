import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Browser, chromium, type Page } from "playwright-core";
import { executablePath, FLAGS } from "../../../test/browser/program.js";
import { scratch } from "../../shared/scratch.js";

// A headless browser says so in its User-Agent, and would count as a bot.
export const CHROME =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";

const args = [...FLAGS, `--user-agent=${CHROME}`];

/** Chromium under Playwright, with its back and forward cache. */
export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath, args, ignoreDefaultArgs: ["--disable-back-forward-cache"] });
}

/** Opens a page in a browser profile of a visitor's own, does something, and closes the profile. */
export async function asVisitor<T>(browser: Browser, visit: (page: Page) => Promise<T>): Promise<T> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  try {
    return await visit(await context.newPage());
  } finally {
    await context.close();
  }
}

/** A Chromium without a debugger: it prerenders pages, which Playwright's only prefetches. */
export async function asLonelyVisitor(address: string, until: () => Promise<unknown>): Promise<void> {
  const profile = `--user-data-dir=${scratch()}`;
  const child = spawn(executablePath, [...args, profile, address], { stdio: "ignore" });
  const ended = once(child, "close");
  try {
    await Promise.race([until(), ended.then(() => Promise.reject(new Error("Chromium has ended")))]);
  } finally {
    child.kill();
    await ended;
  }
}
