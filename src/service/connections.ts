import { Socket } from "node:net";
import type { Dispatcher } from "undici";
import { AffiliateError, errorFrom } from "../shared/errors.js";
import { harmless } from "../shared/harmless.js";
import { peerPlaces, resolvePeer } from "../shared/peer.js";
import { timersAreFaked } from "../shared/real-timers.js";
import { type DispatcherOptions, dispatcherTo, type Undici } from "./dispatcher.js";

/**
 * Connections to the service. The first use loads undici.
 *
 * @throws OptionsError if the environment's proxy has no usable address.
 */
export function createConnections(options: DispatcherOptions) {
  const makeDispatcher = dispatcherTo(options);
  let opening: Promise<void> | undefined;
  // Undici waits for a timer before it reuses a connection, so with fake timers each call gets a
  // new one.
  let pools: { readonly kept: Dispatcher; readonly fresh: Dispatcher } | undefined;
  let isClosed = false;

  function open(): Promise<void> {
    opening ??= loadUndici().then((undici) => {
      pools = { kept: makeDispatcher(undici), fresh: makeDispatcher(undici) };
      if (isClosed) void destroy();
    });
    return opening;
  }

  const destroy = () => Promise.all([pools?.kept.destroy(), pools?.fresh.destroy()]);

  /** Never throws: the handler gets the error. */
  function dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const fail = (error: unknown) => handler.onResponseError?.(undefined as never, errorFrom(error));
    if (!pools) return void open().then(() => dispatch(request, handler), fail);
    const isFaked = timersAreFaked();
    try {
      pools[isFaked ? "fresh" : "kept"].dispatch({ ...request, reset: isFaked }, handler);
    } catch (error) {
      fail(error);
    }
  }

  /** Loads undici now. If it cannot be loaded, each request fails with the reason. */
  const prepare = () => void open().catch(() => {});
  if (isInJest()) prepare();

  return {
    prepare,
    dispatch,
    async close() {
      isClosed = true;
      const destroyed = destroy();
      // Undici resolves this by a microtask, and Jest fakes those as well.
      if (!timersAreFaked()) await destroyed;
    },
  };
}

let loading: Promise<Undici> | undefined;

const importUndici = () => import("undici/index.js");

/** @throws AffiliateError if a bundler has left undici out, and it is not installed either. */
export function checkUndici(): void {
  // A bundler that has put it in has replaced its name.
  const isOutside = /["']undici\/index\.js["']/.test(String(importUndici));
  if (isOutside && resolvePeer("undici/index.js", peerPlaces()) === undefined)
    throw missing("it is not installed");
}

function missing(why: string, cause?: Error): AffiliateError {
  const message = `affiliate: undici, which sends the requests, cannot be loaded: ${why}; if this is a bundle, leave undici out of it, and install undici 7 where it runs`;
  return new AffiliateError("ERR_AFFILIATE_UNDICI", message, cause && { cause });
}

/** Loads undici once, which takes most of the package's loading time: only if it is needed. */
function loadUndici(): Promise<Undici> {
  loading ??= importUndici().then(
    (undici) => {
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
function isInJest(): boolean {
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
