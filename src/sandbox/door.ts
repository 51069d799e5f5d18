import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { refuseUnparsable } from "./http.js";

/** An HTTP server that can be shut, so that its port refuses connections, and opened again on the same port. */
export interface Door {
  readonly url: string;
  shut(): void;
  open(): Promise<void>;
}

/** Listens on `port` of `host` (0: any free port). Rejects with a message that says what to do where it is taken. */
export async function openDoor(listener: RequestListener, host: string, port: number): Promise<Door> {
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

  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${own}`,
    shut() {
      wanted = false;
      server.close();
      server.closeAllConnections();
    },
    async open() {
      wanted = true;
      // A free port may be lent to somebody's outgoing connection while the door is shut; it comes back soon.
      while (wanted && !server.listening) await listen(server, host, own).catch(() => sleep(20));
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
}
