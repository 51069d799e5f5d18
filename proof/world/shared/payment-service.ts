import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A tracking service that counts how often it has recorded each event. */
export interface PaymentService {
  readonly port: number;
  /** How often each event was recorded, by its key. */
  readonly recorded: ReadonlyMap<string, number>;
  /** Whether it closes the connection without an answer, once it has recorded a payment. */
  losesAnswer: (nthPayment: number) => boolean;
  /** Nothing listens any more. */
  goAway(): Promise<void>;
  /** It listens again, on the same port. */
  comeBack(): Promise<void>;
}

export async function startPaymentService(): Promise<PaymentService> {
  const recorded = new Map<string, number>();
  let payments = 0;

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    for await (const _ of req);
    const key = req.headers["idempotency-key"];
    if (typeof key === "string") recorded.set(key, (recorded.get(key) ?? 0) + 1);
    const isPayment = req.url?.endsWith("/lead/payment");
    if (isPayment && service.losesAnswer(++payments)) req.socket.destroy();
    else res.writeHead(200, { "content-type": "application/json" }).end('{"success":true,"leadId":1}');
  }

  const server = createServer((req, res) => void handle(req, res).catch(() => {}));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const service: PaymentService = {
    port,
    recorded,
    losesAnswer: () => false,
    async goAway() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
    async comeBack() {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
  };
  return service;
}
