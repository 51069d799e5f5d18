import { request } from "undici";
import type { browser } from "../../../test/frameworks/kit/browser.js";
import { CHROME } from "../browser/chromium.js";

type Browser = ReturnType<typeof browser>;

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

/** Asks as bots, link previews, pages around it and browsers ahead of their visitors do. */
export async function askAsOthers(address: string): Promise<void> {
  for (const { method = "GET", headers } of OTHERS) {
    const { body } = await request(address, { method, headers });
    await body.dump();
  }
}

/** Opens a page in a browser. Resolves to what the cache says of it. */
export async function open(caller: Browser, path: string): Promise<string> {
  const { headers } = await caller.send("GET", path, OPENS);
  return String(headers["x-cache"]);
}

export async function signUpAndPay(caller: Browser, email: string): Promise<void> {
  for (const path of ["/signup", "/checkout", "/checkout"]) {
    const happened = { email, order: `order of ${email}` };
    const { status } = await caller.post(path, happened, { "user-agent": CHROME });
    if (status >= 400) throw new Error(`${path} answered ${status}`);
  }
}
