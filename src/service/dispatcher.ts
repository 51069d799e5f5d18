import type { Dispatcher } from "undici";
// Its main file by its name: by `undici` alone, Bun means a module of its own that cannot dispatch.
import { EnvHttpProxyAgent, Pool, ProxyAgent } from "undici/index.js";
import { OptionsError } from "../shared/errors.js";

/** An outgoing proxy's address, or `environment` for HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
export type OutgoingProxy = URL | "environment";

export interface DispatcherOptions {
  readonly baseUrl: URL;
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly proxy?: OutgoingProxy | undefined;
}

/** How long a connection may idle. Servers that close theirs after less than 2 s are rare. */
const IDLE_MS = 750;

/**
 * The keep-alive connections to the service's origin: direct, or through a proxy's tunnels (CONNECT). The proxy sees the origin's
 * name and nothing else of a request.
 *
 * @throws OptionsError where the environment's proxy has no usable address.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { baseUrl, connections, connectTimeoutMs, proxy } = options;
  const pool = {
    connections,
    // Servers close idle connections unannounced, and a payment that is written in that moment is in doubt. Where the server
    // announces the time, undici closes 2 s before, and never later than this.
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    // The attempt's own deadline is the only one: undici's are coarse, and would report the same silence as other errors.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const tls = { timeout: connectTimeoutMs };
  if (proxy === undefined) return new Pool(baseUrl.origin, { ...pool, connect: tls });
  const tunnels = {
    ...pool,
    proxyTls: tls,
    requestTls: tls,
    // Otherwise a proxy that does not answer CONNECT would block one of the few connections for five minutes.
    clientFactory: (origin: URL, given: object) =>
      new Pool(origin, { ...given, headersTimeout: connectTimeoutMs }),
  };
  if (proxy !== "environment") return new ProxyAgent({ ...tunnels, uri: proxy.href });
  try {
    // Where NO_PROXY names the host, undici connects by `connect`.
    return new EnvHttpProxyAgent({ ...tunnels, connect: tls });
  } catch {
    // Undici's own error repeats the address, which may contain a password.
    throw new OptionsError("affiliate", [
      "`proxy` is the environment's, and HTTPS_PROXY or HTTP_PROXY is no address, such as http://proxy.example:3128",
    ]);
  }
}
