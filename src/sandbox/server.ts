import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { refuseUnparsable } from "./http.js";

const TRY_EVERY_MS = 20;
const MOST_TRIES = 100;

export type RestartableServer = Awaited<ReturnType<typeof startServer>>;

/**
 * An HTTP server that can stop, so that its port refuses connections, and start again. `port` 0: any
 * free one. If it is taken, rejects with a message that says what to do.
 */
export async function startServer(listener: RequestListener, host: string, port: number) {
  const server = createServer({ requestTimeout: 30_000 }, listener);
  server.on("clientError", refuseUnparsable);
  await listen(server, host, port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    const problem = `sandbox: port ${port} is in use; choose another, or 0 for any free one`;
    throw new Error(problem, { cause: error });
  });
  const { port: boundPort } = server.address() as AddressInfo;

  let turn = Promise.resolve();
  /** One change after the other: the last one decides. */
  function afterwards(change: () => Promise<void>): Promise<void> {
    const changed = turn.then(change);
    turn = changed.catch(() => {});
    return changed;
  }
  /** Refuses new connections, and closes the open ones. */
  async function stop(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close().closeAllConnections();
    await closed;
  }
  /** Rejects if another process has taken the port. */
  async function start(): Promise<void> {
    // The system may lend a stopped server's port to an outgoing connection, for a short time.
    for (let tries = 1; !server.listening; tries += 1) {
      await listen(server, host, boundPort).catch((cause) => {
        if (tries < MOST_TRIES) return sleep(TRY_EVERY_MS);
        const problem = `sandbox: another process has taken port ${boundPort}; stop it, then end the fault again`;
        throw new Error(problem, { cause });
      });
    }
  }

  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${boundPort}`,
    stop: () => afterwards(stop),
    start: () => afterwards(start),
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
}
