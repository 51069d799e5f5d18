import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { afterAll, onTestFinished } from "vitest";

export { freePort as closedPort } from "./own-server.js";

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly head: string;
  readonly body: string;
}

/** What a service does with a request that it has read to its end; `nth` counts from 1. */
export type Behaviour = (socket: Socket, request: RawRequest, nth: number) => void;

export interface FaultyServiceOptions {
  /** Handles a new connection before anything is read from it. */
  readonly onConnection?: (socket: Socket) => void;
  readonly onRequest?: Behaviour;
  readonly tls?: TlsOptions;
}

export type FaultyService = Awaited<ReturnType<typeof startFaultyService>>;

/** A service on a bare socket, which can misbehave as no HTTP server would. */
export async function startFaultyService(options: FaultyServiceOptions = {}) {
  const { onConnection, onRequest = answering(200), tls } = options;
  const requests: RawRequest[] = [];
  // How many there are, were at most at once, and were in all.
  const connections = { open: 0, most: 0, total: 0 };
  const sockets = new Set<Socket>();

  function serve(socket: Socket): void {
    sockets.add(socket);
    connections.total++;
    connections.most = Math.max(connections.most, ++connections.open);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      connections.open--;
    });
    onConnection?.(socket);
    let text = "";
    // Bytes: that is what a request's length is in.
    socket.setEncoding("latin1").on("data", (chunk) => {
      text += chunk;
      for (let request = firstRequest(text); request; request = firstRequest(text)) {
        text = text.slice(request.length);
        requests.push(request);
        service.onRequest(socket, request, requests.length);
      }
    });
  }

  const server: Server = tls
    ? createTlsServer(tls, serve).on("tlsClientError", () => {})
    : createServer(serve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  async function stop(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }

  const url = `${tls ? "https" : "http"}://127.0.0.1:${port}`;
  const service = { url, port, requests, connections, onRequest, stop };
  return service;
}

/** The same, for one test. */
export async function faultyService(options?: FaultyServiceOptions): Promise<FaultyService> {
  const service = await startFaultyService(options);
  onTestFinished(service.stop);
  return service;
}

/** The same, for the tests of a file that run side by side: all end with the file. */
export function faultyServices(): typeof faultyService {
  const services: FaultyService[] = [];
  afterAll(() => Promise.all(services.map(({ stop }) => stop())));
  return async (options) => {
    const service = await startFaultyService(options);
    services.push(service);
    return service;
  };
}

function firstRequest(text: string): (RawRequest & { readonly length: number }) | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  const bodyLength = Number(/^content-length: *(\d+)$/im.exec(head)?.[1] ?? 0);
  const bytes = text.slice(end + 4, end + 4 + bodyLength);
  if (bytes.length < bodyLength) return undefined;
  const body = Buffer.from(bytes, "latin1").toString("utf8");
  const [method = "", path = ""] = head.split(" ");
  return { method, path, head, body, length: end + 4 + bodyLength };
}

export function answering(status: number, body: unknown = { success: true }, headers = ""): Behaviour {
  return (socket) => {
    const text = JSON.stringify(body);
    socket.write(
      `HTTP/1.1 ${status} X\r\n${headers}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  };
}

/** Says so many bytes, word for word, and leaves the connection as it is. */
export const saying =
  (text: string): Behaviour =>
  (socket) =>
    void socket.write(text);

export const resetting: Behaviour = (socket) => void socket.resetAndDestroy();
export const hangingUp: Behaviour = (socket) => void socket.destroy();
export const silent: Behaviour = () => {};
