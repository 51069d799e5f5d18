import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Certificate } from "./certificates.js";
import { listening } from "./listening.js";

/**
 * What a proxy does with CONNECT: nothing, or it closes or resets the connection, or answers with
 * this status.
 */
export type ConnectAnswer = "silence" | "close" | "reset" | number;

/** A service's address by a name that only the proxy resolves: nothing asks a proxy for a loopback address. */
export const beyond = (url: string): string => url.replace("127.0.0.1", "service.test");

/** A proxy that tunnels, or answers CONNECT as it is told to; both may change. Ends with the test. */
export async function startProxy(answer?: ConnectAnswer, tls?: Certificate) {
  const asked: Pick<IncomingMessage, "method" | "url" | "headers">[] = [];
  const server = tls ? createTlsServer(tls) : createServer();
  server.on("request", (req: IncomingMessage, res: ServerResponse) => {
    asked.push(req);
    res.writeHead(501).end();
  });
  server.on("connect", ({ method, url = "", headers }: IncomingMessage, socket, head) => {
    asked.push({ method, url, headers });
    socket.on("error", () => {});
    const { answer } = proxy;
    if (answer === "silence") return;
    if (answer === "close") return void socket.end();
    if (answer === "reset") return void (socket as Socket).resetAndDestroy();
    if (answer !== undefined) return void socket.end(`HTTP/1.1 ${answer} No\r\n\r\n`);
    const { hostname, port } = new URL(`http://${url}`);
    const upstream = connect(Number(port), hostname === "service.test" ? "127.0.0.1" : hostname, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on("error", () => socket.destroy());
    onTestFinished(() => void upstream.destroy());
  });
  const address = `${tls ? "https" : "http"}://127.0.0.1:${await listening(server)}`;
  const proxy = { address, asked, answer };
  return proxy;
}
