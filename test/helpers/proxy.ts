import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { onTestFinished } from "vitest";

/** A proxy that tunnels, or answers CONNECT as it is told to. Ends with the test. */
export async function startProxy(answer?: "silence" | number) {
  const asked: Pick<IncomingMessage, "method" | "url" | "headers">[] = [];
  const server = createServer((req, res) => {
    asked.push(req);
    res.writeHead(501).end();
  });
  server.on("connect", ({ method, url = "", headers }: IncomingMessage, socket, head) => {
    asked.push({ method, url, headers });
    socket.on("error", () => {});
    if (answer === "silence") return;
    if (answer !== undefined) return void socket.end(`HTTP/1.1 ${answer} No\r\n\r\n`);
    const { hostname, port } = new URL(`http://${url}`);
    const upstream = connect(Number(port), hostname, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on("error", () => socket.destroy());
    onTestFinished(() => void upstream.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { address, asked };
}
