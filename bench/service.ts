import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { argument, say } from "./task.js";

/** How the tracking service is. */
export type State = "healthy" | "slow" | "hanging" | "refusing" | "failing";

export interface ServiceReport {
  readonly url: string;
  readonly received: number;
  readonly mostSockets: number;
}

const SLOW_MS = 2_000;
const { state } = argument as { state: State };
let received = 0;
let sockets = 0;
let mostSockets = 0;

const answers: Record<State, (res: ServerResponse) => void> = {
  healthy: (res) => answer(res, 200),
  slow: (res) => setTimeout(answer, SLOW_MS, res, 200),
  hanging: () => {},
  refusing: () => {},
  failing: (res) => answer(res, 500),
};

function answer(res: ServerResponse, status: number): void {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(status === 200 ? '{"success":true,"leadId":1}' : '{"error":"Internal Server Error"}');
}

/** A tracking service that costs as little as it can. */
const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  received++;
  req.resume();
  req.once("end", () => answers[state](res));
}).listen(0, "127.0.0.1");
server.on("connection", (socket) => {
  mostSockets = Math.max(mostSockets, ++sockets);
  socket.once("close", () => sockets--);
});
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
if (state === "refusing") server.close();

const report = (): ServiceReport => ({ url, received, mostSockets });
say(report(), report);
// Also where nothing listens, it is there to be asked.
setInterval(() => {}, 60_000);
