import { createServer, type ServerResponse } from "node:http";
import { addressOf, say } from "./task.js";

/** How the tracking service is. */
export type State = "healthy" | "slow" | "refusing" | "silent";

export interface ServiceReport {
  readonly url: string;
  /** How many requests it has had. */
  readonly received: number;
  /** How many sockets were open at a time, at most. */
  readonly mostSockets: number;
}

/** How long it takes to answer if it is slow, in milliseconds. */
const SLOW_MS = 500;
let state: State = "healthy";
/** How long the service takes to answer while it is healthy, in milliseconds. */
let answersInMs = 0;
let received = 0;
let sockets = 0;
let mostSockets = 0;

const answers: Record<State, (res: ServerResponse) => void> = {
  healthy: (res) => (answersInMs === 0 ? answer(res) : setTimeout(answer, answersInMs, res)),
  slow: (res) => setTimeout(answer, SLOW_MS, res),
  refusing: () => {},
  silent: () => {},
};

function answer(res: ServerResponse): void {
  res.writeHead(200, { "content-type": "application/json" });
  res.end('{"success":true,"leadId":1}');
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
const url = await addressOf(server);

/** How the service behaves from now on. */
export interface Conduct {
  readonly state?: State;
  readonly answersInMs?: number;
}

function report(asked: Conduct = {}): ServiceReport {
  ({ state = state, answersInMs = answersInMs } = asked);
  if (state === "refusing") {
    server.close();
    server.closeAllConnections();
  }
  return { url, received, mostSockets };
}

say(report(), report);
