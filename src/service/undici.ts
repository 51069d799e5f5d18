import { Socket } from "node:net";
import { harmless } from "../shared/harmless.js";

// The main file by name: in Bun, `undici` alone means a module of Bun's own that cannot dispatch.
export type Undici = typeof import("undici/index.js");

let loading: Promise<Undici> | undefined;

/**
 * Loads undici, once for each thread. It takes most of the time that the package takes to load, and a host whose outbox
 * delivers in a thread of its own may never need it.
 */
export function loadUndici(): Promise<Undici> {
  loading ??= import("undici/index.js").then((undici) => {
    if (isInJest()) loadTheRest(undici);
    return undici;
  });
  return loading;
}

/** Jest fails a run in which a module is loaded after its test file has ended: it is to be loaded as soon as possible. */
export function isInJest(): boolean {
  return process.env.JEST_WORKER_ID !== undefined;
}

/**
 * Makes undici load what it otherwise loads when the first connection opens. Leaves nothing open that Jest's
 * `--detectOpenHandles` would find.
 */
function loadTheRest({ buildConnector, Client }: Undici): void {
  const client = new Client("http://localhost", { connect: (_options, done) => done(null, new Socket()) });
  client.dispatch({ method: "GET", path: "/" }, { onRequestStart() {}, onResponseError() {} });
  void client.destroy();
  // Without a name, it loads Node's TLS and throws before it connects.
  harmless(() => buildConnector({})({ protocol: "https:", hostname: "", port: "443" }, () => {}));
}
