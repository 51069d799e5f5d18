import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const LOOK_MS = 20;
const COMES_BACK_WITHIN_MS = 60_000;

/** A request as a service has read it. */
export interface Asked {
  readonly isPayment: boolean;
  /** Its `Idempotency-Key`. */
  readonly key: string;
  readonly visitor: string;
  /** Which of the visitor's events it is, as the hosts of proofs number them. */
  readonly nth: number;
}

/** What a service does with a request. `take` records the event that it reports. */
export type Conduct = (res: ServerResponse, take: () => void, asked: Asked) => void;

/** Takes each event, and says so. */
const well: Conduct = (res, take) => {
  take();
  answer(res);
};

/** The same, and says so after this long. */
export const wellAfter =
  (ms: number): Conduct =>
  (res, take) => {
    take();
    setTimeout(answer, ms, res);
  };

/** A tracking service that records each event every time it takes it, and can be down. */
export async function startService(conduct = well) {
  const arrivals: Asked[] = [];
  let requests = 0;

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    requests++;
    let text = "";
    for await (const chunk of req) text += chunk;
    const asked = askedIn(req, text);
    const take = () => {
      if (req.method === "POST") arrivals.push(asked);
    };
    conduct(res, take, asked);
  }

  async function listen(port: number): Promise<void> {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  }

  // A sender that was killed has not sent all of its request.
  const server = createServer((req, res) => void handle(req, res).catch(() => {}));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** In their order, with repetitions. */
    arrivals: arrivals as readonly Asked[],
    get requests() {
      return requests;
    },
    hangUp: () => server.closeAllConnections(),
    /** Nothing listens any more. */
    async goAway(): Promise<void> {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
    /** It listens again, on the same port: the system may have lent that to an outgoing connection. */
    async comeBack(): Promise<void> {
      for (let left = COMES_BACK_WITHIN_MS; !server.listening; left -= LOOK_MS) {
        await listen(port).catch((error) => (left > 0 ? sleep(LOOK_MS) : Promise.reject(error)));
      }
    },
  };
}

export type Service = Awaited<ReturnType<typeof startService>>;

/** Answers a request. */
export function answer(
  res: ServerResponse,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
  body: object = { success: true, leadId: 1 },
): void {
  res.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

function askedIn({ url = "", headers }: IncomingMessage, text: string): Asked {
  const { sessionId, clickId, leadValue, source, customerName } = text === "" ? {} : JSON.parse(text);
  return {
    isPayment: url.endsWith("/lead/payment"),
    key: String(headers["idempotency-key"]),
    visitor: sessionId ?? clickId ?? "",
    nth: Number(leadValue ?? source ?? customerName),
  };
}

/** Those that were taken before. */
function repeatedIn(arrivals: readonly Asked[]): Asked[] {
  const seen = new Set<string>();
  return arrivals.filter(({ key }) => seen.has(key) || !seen.add(key));
}

/**
 * What became of events: how many reached the service, and how many of these keys did not and are not
 * held either; what the service took twice, and out of its visitor's order.
 */
export function fateOf(keys: Iterable<string>, arrivals: readonly Asked[], held: Iterable<string>) {
  const there = new Set(arrivals.map(({ key }) => key));
  const known = new Set([...there, ...held]);
  const again = repeatedIn(arrivals);
  const paymentsTwice = again.filter(({ isPayment }) => isPayment).length;
  return {
    arrived: there.size,
    lost: [...keys].filter((key) => !known.has(key)).length,
    paymentsTwice,
    othersTwice: again.length - paymentsTwice,
    outOfOrder: outOfOrderIn(arrivals, new Set(again)),
  };
}

/** How many events were taken for the first time after a later one of their visitor. */
function outOfOrderIn(arrivals: readonly Asked[], again: ReadonlySet<Asked>): number {
  const last = new Map<string, number>();
  return arrivals.filter((arrival) => {
    const { visitor, nth } = arrival;
    const before = last.get(visitor) ?? 0;
    last.set(visitor, Math.max(before, nth));
    return nth < before && !again.has(arrival);
  }).length;
}
