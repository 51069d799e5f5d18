import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** One event as it arrived: whose it is, which of theirs, and what makes it that one. */
export interface Arrival {
  readonly key: string;
  readonly path: string;
  readonly visitor: string;
  readonly nth: number;
}

/** A slow tracking service that can be down, and records what it took. */
export async function startService() {
  const arrivals: Arrival[] = [];
  const answers = new Set<ReturnType<typeof setTimeout>>();

  function listen(port: number): Server {
    return createServer(async (req, res) => {
      let text = "";
      for await (const chunk of req) text += chunk;
      if (req.method === "POST")
        arrivals.push(arrivalOf(req.url ?? "", String(req.headers["idempotency-key"]), text));
      // Long enough for a kill to come in between.
      const answer = setTimeout(
        () => {
          answers.delete(answer);
          res.setHeader("content-type", "application/json");
          res.end('{"success":true,"leadId":1}');
        },
        service.slowMs + Math.random() * 15,
      );
      answers.add(answer);
    }).listen(port, "127.0.0.1");
  }

  let server = listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const service = {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    /** How much longer each answer takes. */
    slowMs: 0,
    async goAway(): Promise<void> {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
    async comeBack(): Promise<void> {
      if (server.listening) return;
      server = listen(port);
      await once(server, "listening");
    },
  };
  return service;
}

function arrivalOf(path: string, key: string, text: string): Arrival {
  const { sessionId, source, customerName, leadValue } = JSON.parse(text);
  return { key, path, visitor: sessionId, nth: Number(leadValue ?? source ?? customerName) };
}
