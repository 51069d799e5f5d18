import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to a port of this machine on which data and ends arrive `ms` later, in both directions. */
export async function startDelay(port: number, ms: number) {
  const sockets = new Set<Socket>();

  function pass(from: Socket, to: Socket): void {
    sockets.add(from);
    from.on("data", (chunk) => setTimeout(() => to.writable && to.write(chunk), ms));
    from.on("end", () => setTimeout(() => to.end(), ms));
    from.on("error", () => setTimeout(() => to.resetAndDestroy(), ms));
    from.on("close", () => sockets.delete(from));
  }

  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    pass(near, far);
    pass(far, near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    stop(): void {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
