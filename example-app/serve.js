// @ts-check
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { createSandbox } from "express-affiliate/sandbox";
import { createGateway } from "./gateway.js";
import { createShop } from "./shop.js";

/**
 * Starts the tracking service's sandbox and the shop that reports to it, both on free ports of this
 * machine, and on the same ones when `data` is used again: so bookmarks, and the cookies of who was
 * there, are good for the next start.
 *
 * @param {{ data?: string }} [options] `data`: the folder for the outbox, the ledger and the ports;
 * by default one that is removed when the shop closes.
 */
export async function serve({ data } = {}) {
  const folder = data ?? (await mkdtemp(join(tmpdir(), "example-shop-")));
  await mkdir(folder, { recursive: true });
  const ports = await portsOf(folder);
  const sandbox = await createSandbox({
    file: join(folder, "ledger.db"),
    port: ports.service,
    inspectorPort: ports.inspector,
  });
  const tracker = affiliate({
    baseUrl: sandbox.url,
    clientId: sandbox.clientId,
    apiKey: sandbox.apiKey,
    // What has happened is on the disk before it is sent: kill the shop as you like.
    outbox: diskOutbox({ directory: join(folder, "outbox") }),
  });
  const snippet = { url: `${sandbox.url}/snippet.js`, clientId: sandbox.clientId };
  const recordsUrl = sandbox.inspectorUrl;
  const shop = createShop({ tracker, gateway: createGateway(), snippet, recordsUrl });
  const server = shop.listen(ports.shop, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  await keepPorts(folder, {
    shop: port,
    service: portIn(sandbox.url),
    inspector: portIn(sandbox.inspectorUrl),
  });

  const shopUrl = `http://127.0.0.1:${port}`;
  return {
    sandbox,
    tracker,
    shopUrl,
    dashboardUrl: `${shopUrl}/admin/affiliate/`,
    /**
     * In this order: no new requests, then a moment for what they left in the outbox, then the
     * tracker. What is left after that waits on the disk for the next start.
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

/**
 * The ports of the last start; any free ones if there was none.
 *
 * @param {string} folder
 * @returns {Promise<{ shop: number, service: number, inspector: number }>}
 */
async function portsOf(folder) {
  try {
    return JSON.parse(await readFile(join(folder, "ports.json"), "utf8"));
  } catch {
    return { shop: 0, service: 0, inspector: 0 };
  }
}

/** @param {string} folder @param {{ shop: number, service: number, inspector: number }} ports */
async function keepPorts(folder, ports) {
  await writeFile(join(folder, "ports.json"), JSON.stringify(ports));
}

/** @param {string} url */
function portIn(url) {
  return Number(new URL(url).port);
}
