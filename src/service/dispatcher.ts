import { Socket } from "node:net";
import type { Dispatcher } from "undici";
// Imports the main file by name: in Bun, `undici` alone means a module of Bun's own that cannot dispatch.
import { buildConnector, EnvHttpProxyAgent, Pool, ProxyAgent } from "undici/index.js";
import { OptionsError } from "../shared/errors.js";
import { loadEarlyInJest } from "./loaded-early.js";
import { withProxyErrors } from "./proxy-tunnels.js";

/** An outgoing proxy's address, or `environment` for HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
export type OutgoingProxy = URL | "environment";

export interface DispatcherOptions {
  readonly baseUrl: URL;
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly proxy?: OutgoingProxy | undefined;
}

/** The options that undici makes a proxy's pools with. */
type Given = Pool.Options & { readonly connect: buildConnector.connector };

/** How long a connection may idle. Servers that close theirs after less than 2 s are rare. */
const IDLE_MS = 750;

/**
 * The keep-alive connections to the service's origin: direct, or through a proxy's tunnels (CONNECT). The proxy sees the origin's
 * name and nothing else of a request.
 *
 * @throws OptionsError where the environment's proxy has no usable address.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  loadEarlyInJest();
  const { baseUrl, connections, connectTimeoutMs, proxy } = options;
  const pool = {
    connections,
    // Servers close idle connections unannounced, and a payment written at that moment is in doubt. Where the server announces
    // the time, undici closes 2 s earlier, and never later than this.
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    // The attempt's own deadline is the only one: undici's are coarse, and would report the same silence as other errors.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const tls = { timeout: connectTimeoutMs };
  const connect = unreferenced(buildConnector(tls));
  if (proxy === undefined) return new Pool(baseUrl.origin, { ...pool, connect });
  const poolOf = (origin: string | URL, given: Given) =>
    new Pool(origin, { ...given, connect: unreferenced(given.connect) });
  const tunnels = {
    ...pool,
    proxyTls: tls,
    requestTls: tls,
    factory: poolOf,
    // Otherwise a proxy that does not answer CONNECT would block one of the few connections for five minutes.
    clientFactory: (origin: URL, given: Given) =>
      withProxyErrors(poolOf(origin, { ...given, headersTimeout: connectTimeoutMs })),
  };
  if (proxy !== "environment") return new ProxyAgent({ ...tunnels, uri: proxy.href });
  try {
    // If NO_PROXY names the host, undici uses `connect`.
    return new EnvHttpProxyAgent({ ...tunnels, connect });
  } catch {
    // Undici's own error repeats the address, which may contain a password.
    throw new OptionsError("affiliate", [
      "`proxy` is the environment's, and HTTPS_PROXY or HTTP_PROXY is no address, such as http://proxy.example:3128",
    ]);
  }
}

/** Connects as the given connector does, with sockets that keep no process alive: `beforeExit` decides for how long events are sent. */
function unreferenced(connect: buildConnector.connector): buildConnector.connector {
  function release(socket: unknown): void {
    if (!(socket instanceof Socket)) return;
    socket.unref();
    // Undici refs a connection for as long as a request is under way on it.
    socket.ref = () => socket;
  }

  return (options, callback) => {
    // Undici returns the socket before it is connected; a proxy's tunnel is only known once it is open.
    const socket: unknown = connect(options, (...result) => {
      release(result[1]);
      callback(...result);
    });
    release(socket);
  };
}
