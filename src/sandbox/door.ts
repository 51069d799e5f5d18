import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { refuseUnparsable } from "./http.js";

/** An HTTP server that can be shut, so that its port refuses connections, and opened again on the same port. */
export interface Door {
  readonly url: string;
  /** Refuses connections from now on, and cuts those that stand. */
  shut(): Promise<void>;
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
  let settling = false;
  let settled = Promise.resolve();

  /** Whoever changes the wish while a change is under way has it granted by that one: the last wish counts. */
  function become(open: boolean): Promise<void> {
    wanted = open;
    if (!settling) settled = settle();
    return settled;
  }
  async function settle(): Promise<void> {
    settling = true;
    while (server.listening !== wanted) {
      // A free port may be lent to somebody's outgoing connection while the door is shut; it comes back soon.
      if (wanted) await listen(server, host, own).catch(() => sleep(20));
      else server.close().closeAllConnections();
    }
    settling = false;
  }

  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${own}`,
    shut: () => become(false),
    open: () => become(true),
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
}
