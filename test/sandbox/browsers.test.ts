import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { createSandbox } from "express-affiliate/sandbox";
import { expect } from "vitest";
import { endpoints } from "../../src/sandbox/endpoints.js";
import { key, startSandbox, test } from "./helpers.js";

/** By Node's own client, for `fetch` sets Host and Origin itself. */
async function open(url: string, headers: Record<string, string>, method = "GET", body?: object) {
  const json = body && { "content-type": "application/json" };
  const req = request(url, { method, headers: { ...json, ...headers }, agent: false });
  req.end(body && JSON.stringify(body));
  const [res] = (await once(req, "response")) as [IncomingMessage];
  res.destroy();
  return res;
}

const ask = async (...asked: Parameters<typeof open>) => (await open(...asked)).statusCode;

const status = endpoints.status.path.replace("{sessionId}", "s1");

test.for([
  "evil.example",
  "evil.example:80",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "[evil.example]",
  "shop.local",
  "evil.example#.test",
  "evil.example/.localhost",
])(
  "the sandbox answers nothing to the name %s, which may stand for this machine by DNS rebinding",
  async (host, { sandbox }) => {
    expect(await ask(`${sandbox.inspectorUrl}/state`, { host })).toBe(421);
    expect(await ask(sandbox.url + status, { host, ...key(sandbox) })).toBe(421);
    expect(await ask(`${sandbox.inspectorUrl}/fault`, { host }, "POST", { mode: "down" })).toBe(421);
    expect(sandbox.fault.mode).toBe("ok");
  },
);

test.for([
  "localhost",
  "127.0.0.1:4010",
  "[::1]:4010",
  "10.0.0.7",
  "sandbox:4010",
  "shop.localhost",
  "host.docker.internal",
  "shop.test",
])("the sandbox answers to %s", async (host, { sandbox }) => {
  expect(await ask(sandbox.url + status, { host, ...key(sandbox) })).toBe(200);
  expect(await ask(sandbox.inspectorUrl, { host })).toBe(200);
});

test.for(["localhost:4010", "[::1]:4010", "sandbox", undefined])(
  "the sandbox redirects a request for %s to the inspector under the same name, whatever --host is",
  async (host) => {
    const sandbox = await startSandbox({ host: "0.0.0.0" });
    const url = sandbox.url.replace("0.0.0.0", "127.0.0.1");
    const { headers } = await open(url, host === undefined ? {} : { host });
    const { port } = new URL(sandbox.inspectorUrl);
    expect(headers.location).toBe(`http://${host?.replace(/:4010$/, "") ?? "127.0.0.1"}:${port}`);
  },
);

test.for(["https://evil.example", "null", "http://localhost:1", "nonsense"])(
  "the sandbox lets no page of %s press its buttons, watch, or ask for a status",
  async (origin, { sandbox }) => {
    expect(await ask(`${sandbox.inspectorUrl}/fault`, { origin }, "POST", { mode: "down" })).toBe(403);
    expect(await ask(`${sandbox.inspectorUrl}/clear`, { origin }, "POST", {})).toBe(403);
    expect(await ask(`${sandbox.inspectorUrl}/state`, { origin })).toBe(403);
    for (const url of [sandbox.url, sandbox.inspectorUrl])
      expect(await ask(`${url}/ledger.json`, { origin })).toBe(403);
    expect(await ask(sandbox.url + status, { origin, ...key(sandbox) })).toBe(403);
    expect(sandbox.fault.mode).toBe("ok");
  },
);

test.for(["cross-site", "same-site"])(
  "the sandbox lets no page that is %s load what it keeps, with no origin named, but follow a link",
  async (site, { sandbox }) => {
    const asImage = { "sec-fetch-site": site, "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors" };
    const asFrame = { ...asImage, "sec-fetch-dest": "iframe", "sec-fetch-mode": "navigate" };
    const asLink = { ...asFrame, "sec-fetch-dest": "document" };
    for (const headers of [asImage, asFrame]) {
      for (const path of ["/", "/state", "/ledger.json"])
        expect(await ask(sandbox.inspectorUrl + path, headers)).toBe(403);
      expect(await ask(`${sandbox.url}/ledger.json`, headers)).toBe(403);
      expect(await ask(sandbox.url + status, { ...headers, ...key(sandbox) })).toBe(403);
    }
    expect(await ask(sandbox.inspectorUrl, asLink)).toBe(200);
    expect(await ask(`${sandbox.url}/snippet.js`, { ...asImage, "sec-fetch-dest": "script" })).toBe(200);
    expect(await ask(sandbox.inspectorUrl, { "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await ask(sandbox.inspectorUrl, { "sec-fetch-site": "none" })).toBe(200);
  },
);

test.for(["", " ", "evil example", "1.2.3", "http://localhost", "localhost:80"])(
  "the sandbox does not take %j for a host to listen on",
  async (host) => {
    await expect(createSandbox({ host })).rejects.toThrow("expected an address or a name");
  },
);

test("the sandbox lets its own page press its buttons, and shops' pages post clicks", async ({ sandbox }) => {
  const own = { origin: sandbox.inspectorUrl };
  expect(await ask(`${sandbox.inspectorUrl}/fault`, own, "POST", { mode: "500" })).toBe(200);
  expect(await ask(`${sandbox.inspectorUrl}/fault`, own, "POST", { mode: "ok" })).toBe(200);
  const shop = { origin: "https://shop.example" };
  const posted = { clientId: sandbox.clientId, affiliateReference: "ALICE" };
  expect(await ask(sandbox.url + endpoints.click.path, shop, "POST", posted)).toBe(201);
});
