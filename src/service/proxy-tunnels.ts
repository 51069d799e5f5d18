import type { Dispatcher } from "undici";
import { errorCodeOf } from "../shared/errors.js";

/** What to do about an answer to CONNECT. */
const REMEDIES: Readonly<Record<number, string>> = {
  403: "it does not allow the service's host",
  407: "it wants a user and a password: put them into the proxy's address",
};

/**
 * The outgoing proxy opened no tunnel, so nothing was sent. With undici's code for a closed socket,
 * undici would connect again at once, for ever.
 */
export class ProxyError extends Error {
  readonly code = "ERR_PROXY";
}

/** Makes connections to a proxy fail with a `ProxyError` if it opens no tunnel. */
export function withProxyErrors<D extends Dispatcher>(proxy: D): D {
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
