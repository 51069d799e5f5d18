import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { refuseUnparsable } from "./http.js";

const TRY_EVERY_MS = 20;
const MOST_TRIES = 100;

/** An HTTP server that can stop, so that its port refuses connections, and start again. */
export interface RestartableServer {
  readonly url: string;
  /** Refuses new connections, and closes the open ones. */
  stop(): Promise<void>;
  /** Rejects if another process has taken the port. */
  start(): Promise<void>;
}

/** `port` 0: any free one. If it is taken, rejects with a message that says what to do. */
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
  const boundPort = (server.address() as AddressInfo).port;

  let wanted = true;
  let settling = false;
  let settled = Promise.resolve();

  /** If several calls come during a change, the last one decides. */
  function become(open: boolean): Promise<void> {
    wanted = open;
    if (!settling) settled = settle();
    return settled;
  }
  async function settle(): Promise<void> {
    settling = true;
    try {
      for (let tries = 1; server.listening !== wanted; tries += 1) {
        if (wanted) await listen(server, host, boundPort).catch((error) => wait(tries, error));
        else server.close().closeAllConnections();
      }
    } finally {
      settling = false;
    }
  }
  /** The system may lend a stopped server's port to an outgoing connection, for a short time. */
  async function wait(tries: number, cause: Error): Promise<void> {
    if (tries < MOST_TRIES) return sleep(TRY_EVERY_MS);
    throw new Error(
      `sandbox: another process has taken port ${boundPort}; stop it, then end the fault again`,
      {
        cause,
      },
    );
  }

  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${boundPort}`,
    stop: () => become(false),
    start: () => become(true),
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
}
