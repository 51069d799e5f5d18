import { createServer, type ServerResponse } from "node:http";
import { addressOf, say } from "./task.js";

/** How the tracking service is. */
export type State = "healthy" | "slow" | "refusing" | "silent";

export type ServiceReport = ReturnType<typeof report>;

/** How long it takes to answer if it is slow, in milliseconds. */
const SLOW_MS = 500;
let state: State = "healthy";
/** How long the service takes to answer while it is healthy, in milliseconds. */
let answersInMs = 0;
let received = 0;
/** How many are open, and how many were at a time, at most. */
let sockets = 0;
let mostSockets = 0;

function answer(res: ServerResponse): void {
  res.writeHead(200, { "content-type": "application/json" });
  res.end('{"success":true,"leadId":1}');
}

/** A tracking service that costs as little as it can. */
const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  received++;
  req.resume();
  req.once("end", () => {
    if (state === "slow") setTimeout(answer, SLOW_MS, res);
    else if (state === "healthy" && answersInMs > 0) setTimeout(answer, answersInMs, res);
    else if (state === "healthy") answer(res);
  });
}).listen(0, "127.0.0.1");
server.on("connection", (socket) => {
  mostSockets = Math.max(mostSockets, ++sockets);
  socket.once("close", () => sockets--);
});
const url = await addressOf(server);

/** @param asked how it behaves from now on. */
function report(asked: { state?: State; answersInMs?: number } = {}) {
  ({ state = state, answersInMs = answersInMs } = asked);
  if (state === "refusing") {
    server.close();
    server.closeAllConnections();
  }
  return { url, received, mostSockets };
}

say(report(), report);
