// @ts-check
import { once } from "node:events";
import { affiliate } from "express-affiliate";
import { createSandbox } from "express-affiliate/sandbox";
import { createShop } from "./shop.js";

/** Starts the tracking service's sandbox and the shop that reports to it, both on free ports of this machine. */
export async function serve() {
  const sandbox = await createSandbox();
  const tracker = affiliate({ baseUrl: sandbox.url, clientId: sandbox.clientId, apiKey: sandbox.apiKey });
  const snippet = { url: `${sandbox.url}/snippet.js`, clientId: sandbox.clientId };
  const server = createShop({ tracker, snippet }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());

  return {
    sandbox,
    tracker,
    shopUrl: `http://127.0.0.1:${port}`,
    /** In this order: no new requests, then what they left in the outbox, then the service. */
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      await tracker.flush({ timeoutMs: 2_000 });
      await tracker.close({ timeoutMs: 1_000 });
      await sandbox.close();
    },
  };
}
