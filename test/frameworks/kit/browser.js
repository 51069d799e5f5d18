import { request } from "node:http";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0";

/**
 * A browser: it keeps cookies, and says so if it opens a page. Node's `fetch` would say that it opens none.
 *
 * @param {string} origin of the app.
 */
export function browser(origin) {
  const cookies = new Map();

  /** Resolves with the answer's status, its headers, its text, and its body if that is JSON. */
  async function send(method, path, headers, body) {
    const response = await new Promise((resolve, reject) => {
      const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
      const all = { "user-agent": FIREFOX, ...(cookie && { cookie }), origin, ...headers };
      request(new URL(path, origin), { method, headers: all }, resolve).once("error", reject).end(body);
    });
    for (const line of response.headers["set-cookie"] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      cookies.set(name, value);
    }
    const chunks = [];
    for await (const chunk of response) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const isJson = /json/.test(response.headers["content-type"] ?? "");
    return {
      status: response.statusCode,
      headers: response.headers,
      text,
      body: isJson && text !== "" ? JSON.parse(text) : undefined,
    };
  }

  const json = { "content-type": "application/json" };
  return {
    cookies,
    open: (path) =>
      send("GET", path, { accept: "text/html", "sec-fetch-dest": "document", "sec-fetch-mode": "navigate" }),
    post: (path, body, headers = {}) => send("POST", path, { ...json, ...headers }, JSON.stringify(body)),
    /** Sends an object as JSON, and another body as it is. */
    send: (method, path, headers = {}, body) =>
      typeof body === "object" && !(body instanceof Uint8Array)
        ? send(method, path, { ...json, ...headers }, JSON.stringify(body))
        : send(method, path, headers, body),
  };
}
