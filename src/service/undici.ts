import { Socket } from "node:net";
import { AffiliateError, errorFrom } from "../shared/errors.js";
import { harmless } from "../shared/harmless.js";
import { peerPlaces, resolvePeer } from "../shared/peer.js";

// The main file by name: in Bun, `undici` alone means a module of Bun's own that cannot dispatch.
export type Undici = typeof import("undici/index.js");

let loading: Promise<Undici> | undefined;

const importUndici = () => import("undici/index.js");

/**
 * @param beside a module of this package.
 * @throws AffiliateError if a bundler has left undici out, and it is not installed either.
 */
export function checkUndici(beside: string): void {
  // A bundler that has put it in has replaced its name.
  const isOutside = /["']undici\/index\.js["']/.test(String(importUndici));
  if (isOutside && resolvePeer("undici/index.js", peerPlaces(beside)) === undefined)
    throw missing("it is not installed");
}

function missing(why: string, cause?: Error): AffiliateError {
  const message = `affiliate: undici, which sends the requests, cannot be loaded: ${why}; if this is a bundle, leave undici out of it, and install undici 7 where it runs`;
  return new AffiliateError("ERR_AFFILIATE_UNDICI", message, cause && { cause });
}

/** Loads undici once, which takes most of the package's loading time: only if it is needed. */
export function loadUndici(): Promise<Undici> {
  loading ??= importUndici().then(
    (namespace) => {
      // If undici has a file of its own in a bundle, esbuild gives it as the default export alone.
      const undici: Undici = "Pool" in namespace ? namespace : (namespace as { default: Undici }).default;
      if (isInJest()) loadTheRest(undici);
      return undici;
    },
    (error) => {
      throw missing(errorFrom(error).message, errorFrom(error));
    },
  );
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
