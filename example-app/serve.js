// @ts-check
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { createSandbox } from "express-affiliate/sandbox";
import { createGateway } from "./gateway.js";
import { createShop } from "./shop.js";

/**
 * Starts the tracking service's sandbox and the shop that reports to it, both on free ports of this machine.
 *
 * @param {{ data?: string }} [options] `data`: the folder for the outbox and the ledger; by default one that ends with the shop.
 */
export async function serve({ data } = {}) {
  const folder = data ?? (await mkdtemp(join(tmpdir(), "example-shop-")));
  await mkdir(folder, { recursive: true });
  const sandbox = await createSandbox({ file: join(folder, "ledger.db") });
  const tracker = affiliate({
    baseUrl: sandbox.url,
    clientId: sandbox.clientId,
    apiKey: sandbox.apiKey,
    // What has happened is on the disk before it is sent: kill the shop as you like.
    outbox: diskOutbox({ directory: join(folder, "outbox") }),
  });
  const snippet = { url: `${sandbox.url}/snippet.js`, clientId: sandbox.clientId };
  const server = createShop({ tracker, gateway: createGateway(), snippet }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());

  return {
    sandbox,
    tracker,
    shopUrl: `http://127.0.0.1:${port}`,
    /**
     * In this order: no new requests, then a moment for what they left in the outbox, then the tracker. What is left after
     * that waits on the disk for the next start.
     */
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      await tracker.flush({ timeoutMs: 2_000 });
      await tracker.close({ timeoutMs: 1_000 });
      await sandbox.close();
      if (data === undefined) await rm(folder, { recursive: true });
    },
  };
}
