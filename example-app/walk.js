// @ts-check
// A visitor who walks through the shop by himself: follows an affiliate's link, signs up, subscribes to a tea, is charged again
// a month later, buys a blanket, and sends it back.
import { request } from "undici";

const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0";

/**
 * @param {string} shopUrl
 * @param {{ reference: string, name: string, email: string, keeps?: boolean }} visitor `keeps`: he
 * does not send the blanket back.
 * @returns {Promise<{ sessionId: string, pages: string[] }>} the session by which the tracking
 * service knows him, and the pages that he saw.
 */
export async function walk(shopUrl, { reference, name, email, keeps = false }) {
  /** @type {Map<string, string>} */
  const cookies = new Map();
  /** @type {string[]} */
  const pages = [];

  /** @param {string} path @param {Record<string, string>} [form] */
  async function visit(path, form) {
    // Not by `fetch`, which says of itself that it opens no page (`Sec-Fetch-Mode: cors`).
    const { statusCode, headers, body } = await request(new URL(path, shopUrl), {
      method: form ? "POST" : "GET",
      headers: {
        ...(form && { "content-type": "application/x-www-form-urlencoded" }),
        accept: "text/html",
        "user-agent": browser,
        cookie: [...cookies].map((pair) => pair.join("=")).join("; "),
      },
      body: form ? String(new URLSearchParams(form)) : null,
    });
    for (const line of [headers["set-cookie"] ?? []].flat()) {
      const [, cookieName = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(cookieName, value);
    }
    if (statusCode >= 400) throw new Error(`${path} answered ${statusCode}`);
    const page = await body.text();
    if (statusCode === 200) pages.push(page);
    return page;
  }

  await visit(`/welcome?via=${encodeURIComponent(reference)}`);
  await visit("/signup", { name, email });
  /** @param {string} product */
  async function orderOf(product) {
    const checkout = await visit("/checkout", { product });
    const [, id = ""] = /name="order" value="([^"]+)"/.exec(checkout) ?? [];
    return id;
  }
  const order = await orderOf("tea");
  await visit("/checkout/complete", { order });
  // The page is reloaded, as pages are.
  await visit("/checkout/complete", { order });
  await visit("/next-month", { order });
  const blanket = await orderOf("blanket");
  await visit("/checkout/gateway", { order: blanket });
  if (!keeps) await visit("/return", { order: blanket });

  return { sessionId: cookies.get("svc_session_id") ?? "", pages };
}
