import { request } from "undici";
import { CHROME } from "../browser/chromium.js";

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

/** A browser: it keeps cookies. */
export class Caller {
  readonly #cookies = new Map<string, string>();

  /** Opens a page. Resolves to what the cache says of it. */
  async open(address: string): Promise<string> {
    const { headers } = await this.#send(address, { method: "GET", headers: OPENS });
    return String(headers["x-cache"]);
  }

  async signUpAndPay(site: string, email: string): Promise<void> {
    const body = JSON.stringify({ email, order: `order of ${email}` });
    const headers = { "user-agent": CHROME, "content-type": "application/json" };
    for (const path of ["/signup", "/checkout", "/checkout"]) {
      const { statusCode } = await this.#send(`${site}${path}`, { method: "POST", headers, body });
      if (statusCode >= 400) throw new Error(`${path} answered ${statusCode}`);
    }
  }

  async #send(
    address: string,
    options: { method: "GET" | "POST"; headers: Record<string, string>; body?: string },
  ) {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await request(address, {
      ...options,
      headers: { ...options.headers, ...(cookie && { cookie }) },
    });
    await response.body.dump();
    for (const line of [response.headers["set-cookie"] ?? []].flat()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.#cookies.set(name, value);
    }
    return response;
  }
}
