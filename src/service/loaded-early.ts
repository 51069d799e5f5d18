import { Socket } from "node:net";
// Imports the main file by name: in Bun, `undici` alone means a module of Bun's own that cannot dispatch.
import { buildConnector, Client } from "undici/index.js";
import { harmless } from "../shared/harmless.js";

let isLoaded = false;

/**
 * Makes undici load what it otherwise loads when the first connection opens. Jest fails a run in which a module is loaded after its
 * test file has ended, as the tracker of a forgotten `close()` may do. Leaves nothing open that `--detectOpenHandles` would find.
 */
export function loadEarlyInJest(): void {
  if (isLoaded || process.env.JEST_WORKER_ID === undefined) return;
  isLoaded = true;
  const client = new Client("http://localhost", { connect: (_options, done) => done(null, new Socket()) });
  client.dispatch({ method: "GET", path: "/" }, { onRequestStart() {}, onResponseError() {} });
  void client.destroy();
  // Without a name, it loads Node's TLS and throws before it connects.
  harmless(() => buildConnector({})({ protocol: "https:", hostname: "", port: "443" }, () => {}));
}
