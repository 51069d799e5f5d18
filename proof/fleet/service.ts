import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** One event that the service took. */
export interface Taken {
  readonly key: string;
  readonly isPayment: boolean;
  readonly visitor: string;
  readonly nth: number;
}

/**
 * A tracking service of which one request in ten fails: most are refused with a 503 and some are cut off, before the event was
 * taken or after. It takes every request, and records it.
 */
export async function startFaultyService(failures: number) {
  const taken: Taken[] = [];
  const counts = { requests: 0, refused: 0, cutOff: 0 };

  const server = createServer(async (req, res) => {
    let text = "";
    try {
      for await (const chunk of req) text += chunk;
    } catch {
      // Its sender was killed in the middle of it.
      return;
    }
    counts.requests++;
    const luck = req.method === "POST" ? Math.random() : 1;
    if (luck < failures * 0.8) {
      counts.refused++;
      res.statusCode = 503;
      return res.end();
    }
    const isTaken = luck >= failures * 0.9;
    if (isTaken && req.method === "POST") {
      taken.push(read(req.url ?? "", String(req.headers["idempotency-key"]), text));
    }
    if (luck < failures) {
      counts.cutOff++;
      return req.socket.destroy();
    }
    res.setHeader("content-type", "application/json");
    return res.end('{"success":true,"leadId":1}');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    counts,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}

function read(path: string, key: string, text: string): Taken {
  const { sessionId, clickId, source, customerName, leadValue } = JSON.parse(text);
  const nth = Number(leadValue ?? source ?? customerName.split(" ")[1]);
  return { key, isPayment: path.endsWith("/payment"), visitor: sessionId ?? clickId, nth };
}
