import { isIP, Socket } from "node:net";
import type { buildConnector, Dispatcher, Pool } from "undici";
import { errorCodeOf, OptionsError } from "../shared/errors.js";

// The main file by name: in Bun, `undici` alone means a module of Bun's own that cannot dispatch.
export type Undici = typeof import("undici/index.js");

/** An outgoing proxy's address, or `environment` for HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
export type OutgoingProxy = URL | "environment";

export interface DispatcherOptions {
  readonly baseUrl: URL;
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly proxy?: OutgoingProxy | undefined;
}

/** What undici makes a proxy's pools with. */
type Given = Pool.Options & { readonly connect: buildConnector.connector };

/** How long a connection may idle. Servers that close theirs after less than 2 s are rare. */
const IDLE_MS = 750;

/**
 * Keep-alive connections to the service's origin: direct, or through a proxy's tunnels (CONNECT),
 * so that the proxy sees only the origin's name. Reads the environment; the returned function makes
 * new connections, and does not read it again.
 *
 * @throws OptionsError if the environment's proxy has no usable address.
 */
export function dispatcherTo(options: DispatcherOptions): (undici: Undici) => Dispatcher {
  const { baseUrl, connections, connectTimeoutMs, proxy } = options;
  const pool = {
    connections,
    // Servers close idle connections unannounced, and a payment written then is in doubt. If the
    // server announces the time, undici closes 2 s earlier, and never later than this.
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    // None: undici's timers are coarse, and would report the same silence as other errors.
    headersTimeout: 0,
    bodyTimeout: 0,
    // A longer head is ignored, even its status. Gateways add cookies and policies.
    maxHeaderSize: 128 * 1024,
  };
  const connecting = {
    timeout: connectTimeoutMs,
    // Node tries a name's addresses one after the other, each for 250 ms but the last. So with A and
    // AAAA records, of which the last leads nowhere, no slower handshake would ever succeed.
    autoSelectFamilyAttemptTimeout: Math.max(10, Math.floor(connectTimeoutMs / 2)),
  };
  const direct = ({ buildConnector }: Undici) => unreferenced(buildConnector(connecting));
  // A proxy would get the request in clear, and send it to a service on its own machine.
  if (proxy === undefined || isLoopback(baseUrl.hostname))
    return (undici) => new undici.Pool(baseUrl.origin, { ...pool, connect: direct(undici) });

  const tunnelsBy = (undici: Undici) => {
    const poolOf = (origin: string | URL, given: Given) =>
      new undici.Pool(origin, { ...given, connect: unreferenced(given.connect) });
    return {
      ...pool,
      proxyTls: connecting,
      requestTls: connecting,
      factory: poolOf,
      // Otherwise a proxy that does not answer CONNECT blocks a connection for five minutes.
      clientFactory: (origin: URL, given: Given) =>
        withProxyErrors(poolOf(origin, { ...given, headersTimeout: connectTimeoutMs })),
    };
  };
  if (proxy !== "environment")
    return (undici) => new undici.ProxyAgent({ ...tunnelsBy(undici), uri: proxy.href });

  const proxies = proxiesOfEnvironment(process.env);
  // If NO_PROXY names the host, undici uses `connect`.
  return (undici) =>
    new undici.EnvHttpProxyAgent({ ...tunnelsBy(undici), ...proxies, connect: direct(undici) });
}

/** Whether a URL's host name stands for this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(?:(?:.+\.)?localhost\.?|127\.[\d.]+|0\.0\.0\.0|\[::1?\]|\[::ffff:7f[\da-f]{2}:[\da-f]+\])$/.test(
    hostname,
  );
}

function proxiesOfEnvironment(env: NodeJS.ProcessEnv): { httpProxy: string; httpsProxy: string } {
  // In undici's order. An empty text means none.
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY ?? "";
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY ?? "";
  // Undici's own error would repeat the address, which may contain a password.
  if (![httpProxy, httpsProxy].every((address) => address === "" || isProxyAddress(address)))
    throw new OptionsError("affiliate", [
      '`proxy` is "environment", but HTTPS_PROXY or HTTP_PROXY is no http or https URL like http://proxy.example:3128',
    ]);
  return { httpProxy, httpsProxy };
}

/** Whether undici can use it. Otherwise nothing would ever be sent. */
export function isProxyAddress(address: string): boolean {
  try {
    const { protocol, username, password, pathname, search, hash } = new URL(address);
    // Throws if they are not encoded as a URL's.
    decodeURIComponent(username + password);
    // Undici would use SOCKS, too, with idle times of its own: payments would be held.
    return /^https?:$/.test(protocol) && pathname + search + hash === "/";
  } catch {
    return false;
  }
}

/** Sockets that keep no process alive: `beforeExit` decides for how long events are sent. */
function unreferenced(connect: buildConnector.connector): buildConnector.connector {
  function release(socket: unknown): void {
    if (!(socket instanceof Socket)) return;
    socket.unref();
    // Undici refs a connection while a request is under way on it.
    socket.ref = () => socket;
  }

  return (options, callback) => {
    // Undici names a proxy's address, too. TLS has no such names, and Node 26 refuses it.
    const isAddress = isIP(options.servername?.replace(/^\[|\]$/g, "") ?? "") > 0;
    const named = isAddress ? { ...options, servername: undefined } : options;
    // Undici returns the socket before it is connected, but a tunnel only once it is open.
    const socket: unknown = connect(named as typeof options, (...result) => {
      release(result[1]);
      callback(...result);
    });
    release(socket);
  };
}

/** What to do about an answer to CONNECT. */
const REMEDIES: Readonly<Record<number, string>> = {
  403: "it does not allow the service's host",
  407: "it wants a user and a password: put them into the proxy's address",
};

/**
 * The outgoing proxy opened no tunnel, so nothing was sent. With undici's code for a closed socket,
 * undici would connect again at once, for ever.
 */
class ProxyError extends Error {
  readonly code = "ERR_PROXY";
}

/** Makes connections to a proxy fail with a `ProxyError` if it opens no tunnel. */
function withProxyErrors<D extends Dispatcher>(proxy: D): D {
  const open = proxy.connect.bind(proxy) as (options: object) => Promise<Dispatcher.ConnectData>;

  async function connect(options: object): Promise<Dispatcher.ConnectData> {
    const answer = await open(options).catch((error: Error) => {
      throw new ProxyError(`no tunnel through the outgoing proxy: ${error.message || errorCodeOf(error)}`, {
        cause: error,
      });
    });
    const { statusCode, socket } = answer;
    if (statusCode === 200) return answer;
    socket.on("error", () => {}).destroy();
    const remedy = REMEDIES[statusCode];
    throw new ProxyError(
      `the outgoing proxy answered CONNECT with ${statusCode}${remedy ? `: ${remedy}` : ""}`,
    );
  }

  return Object.assign(proxy, { connect });
}
