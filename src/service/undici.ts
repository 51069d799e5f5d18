import { Socket } from "node:net";
import { harmless } from "../shared/harmless.js";

// The main file by name: in Bun, `undici` alone means a module of Bun's own that cannot dispatch.
export type Undici = typeof import("undici/index.js");

let loading: Promise<Undici> | undefined;

/**
 * Loads undici once. It takes most of the package's loading time, and a host whose outbox delivers
 * in a thread of its own may not need it.
 */
export function loadUndici(): Promise<Undici> {
  loading ??= import("undici/index.js").then((undici) => {
    if (isInJest()) loadTheRest(undici);
    return undici;
  });
  return loading;
}

/** Jest fails a run that loads modules after its test file has ended, so load them early. */
export function isInJest(): boolean {
  return process.env.JEST_WORKER_ID !== undefined;
}

/** Loads what the first connection would. Leaves nothing open for Jest's `--detectOpenHandles`. */
function loadTheRest({ buildConnector, Client }: Undici): void {
  const client = new Client("http://localhost", { connect: (_options, done) => done(null, new Socket()) });
  client.dispatch({ method: "GET", path: "/" }, { onRequestStart() {}, onResponseError() {} });
  void client.destroy();
  // Without a name, it loads Node's TLS and throws before it connects.
  harmless(() => buildConnector({})({ protocol: "https:", hostname: "", port: "443" }, () => {}));
}
