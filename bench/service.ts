import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { argument, say } from "./task.js";

export type ServiceReport = typeof ready;

/** How long it takes to answer, in milliseconds. */
const { answersInMs = 0 } = argument as { answersInMs?: number };

function answer(res: ServerResponse): void {
  res.writeHead(200, { "content-type": "application/json" });
  res.end('{"success":true,"leadId":1}');
}

/** A tracking service that costs as little as it can. */
const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  req.resume();
  req.once("end", () => {
    if (answersInMs > 0) setTimeout(answer, answersInMs, res);
    else answer(res);
  });
}).listen(0, "127.0.0.1");
await once(server, "listening");
const ready = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };

say(ready);
