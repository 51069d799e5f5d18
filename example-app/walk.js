// @ts-check
// A visitor who walks through the shop by himself: follows an affiliate's link, signs up, subscribes to a tea, and is charged
// again a month later.

const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0";

/**
 * @param {string} shopUrl
 * @param {{ reference: string, name: string, email: string }} visitor
 * @returns {Promise<{ sessionId: string, pages: string[] }>} the session by which the tracking service knows him, and the pages
 *   that he saw.
 */
export async function walk(shopUrl, { reference, name, email }) {
  /** @type {Map<string, string>} */
  const cookies = new Map();
  /** @type {string[]} */
  const pages = [];

  /** @param {string} path @param {Record<string, string>} [form] */
  async function visit(path, form) {
    const response = await fetch(new URL(path, shopUrl), {
      method: form ? "POST" : "GET",
      redirect: "manual",
      headers: {
        accept: "text/html",
        "user-agent": browser,
        cookie: [...cookies].map((pair) => pair.join("=")).join("; "),
      },
      ...(form && { body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, cookieName = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(cookieName, value);
    }
    if (response.status >= 400) throw new Error(`${path} answered ${response.status}`);
    const page = await response.text();
    if (response.status === 200) pages.push(page);
    return page;
  }

  await visit(`/welcome?ref=${encodeURIComponent(reference)}`);
  await visit("/signup", { name, email });
  const checkout = await visit("/checkout", { product: "tea" });
  const [, order = ""] = /name="order" value="([^"]+)"/.exec(checkout) ?? [];
  await visit("/checkout/complete", { order });
  // The page is reloaded, as pages are.
  await visit("/checkout/complete", { order });
  await visit("/next-month", { order });

  return { sessionId: cookies.get("svc_session_id") ?? "", pages };
}
