import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { refuseUnparsable } from "./http.js";

/** An HTTP server that can be stopped, so that its port refuses connections, and started again on the same port. */
export interface RestartableServer {
  readonly url: string;
  /** Refuses connections from now on, and cuts those that stand. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Listens on `port` of `host` (0: any free port). Rejects with a message that says what to do where it is taken. */
export async function startServer(
  listener: RequestListener,
  host: string,
  port: number,
): Promise<RestartableServer> {
  const server = createServer({ requestTimeout: 30_000 }, listener);
  server.on("clientError", refuseUnparsable);

  await listen(server, host, port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new Error(`sandbox: port ${port} is in use; choose another, or 0 for any free one`, {
      cause: error,
    });
  });
  const own = (server.address() as AddressInfo).port;

  let wanted = true;
  let settling = false;
  let settled = Promise.resolve();

  /** A call while a change is under way changes what that change leads to: the last call counts. */
  function become(open: boolean): Promise<void> {
    wanted = open;
    if (!settling) settled = settle();
    return settled;
  }
  async function settle(): Promise<void> {
    settling = true;
    while (server.listening !== wanted) {
      // A free port may be lent to an outgoing connection while the server is stopped; it is free again soon.
      if (wanted) await listen(server, host, own).catch(() => sleep(20));
      else server.close().closeAllConnections();
    }
    settling = false;
  }

  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${own}`,
    stop: () => become(false),
    start: () => become(true),
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
}
