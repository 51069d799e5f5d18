import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { freePort, HOST } from "./own-server.js";

/** A way to a server of this machine that can be cut. */
export interface Link {
  readonly host: string;
  readonly port: number;
  /** Ends its connections, and takes no others until `restore`. */
  cut(): void;
  restore(): Promise<void>;
}

export async function startLink(to: { readonly host: string; readonly port: number }): Promise<Link> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to.port, to.host);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one
        .on("error", () => {})
        .on("close", () => {
          sockets.delete(one);
          other.destroy();
        });
      one.pipe(other);
    }
  });
  const link: Link = {
    host: HOST,
    port: await freePort(),
    cut() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
    async restore() {
      server.listen(link.port, HOST);
      await once(server, "listening");
    },
  };
  await link.restore();
  server.unref();
  return link;
}
