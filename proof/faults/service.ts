import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** An event that the service has taken. */
export interface Taken {
  readonly key: string;
  readonly visitor: string;
  readonly nth: number;
  readonly isPayment: boolean;
}

/** What a fault does with a request that has been read: `take` writes the event down. */
type Misbehaviour = (res: ServerResponse, take: () => void) => void;

const answer = (
  res: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
  body: object = {},
) => {
  res.writeHead(status, { "content-type": "application/json", ...headers });
  res.end(JSON.stringify(body));
};
const says =
  (status: number, headers?: Record<string, string>): Misbehaviour =>
  (res) =>
    answer(res, status, headers, { error: String(status), message: "as the proof wants it", status });
const socketOf = (res: ServerResponse) => res.socket as Socket;

/** Every way in which this service can fail. `undefined`: nothing listens at all. */
export const faults: Readonly<Record<string, Misbehaviour | undefined>> = {
  "refuses connections": undefined,
  "is slow": (res, take) => {
    take();
    setTimeout(() => answer(res, 201, {}, { success: true }), 5);
  },
  "answers 500": says(500),
  "answers 503": says(503),
  "answers 503 with Retry-After": says(503, { "retry-after": "20" }),
  "answers 429 with Retry-After": says(429, { "retry-after": "20" }),
  "answers 429 without": says(429),
  "answers 401": says(401),
  "answers 404": says(404),
  "answers 302": says(302, { location: "/elsewhere" }),
  "answers 502, and has taken it": (res, take) => {
    take();
    answer(res, 502);
  },
  "answers 504, and has not taken it": says(504),
  "hangs, and has not taken it": () => {},
  "hangs, and has taken it": (_res, take) => take(),
  "resets, and has not taken it": (res) => void socketOf(res).resetAndDestroy(),
  "resets, and has taken it": (res, take) => {
    take();
    socketOf(res).resetAndDestroy();
  },
  "answers garbage, and has taken it": (res, take) => {
    take();
    socketOf(res).end("HTTP/9 hello\r\n\r\n");
  },
  "breaks off within the answer's body": (res, take) => {
    take();
    res.writeHead(200, { "content-length": "1000" });
    res.write("{", () => socketOf(res).destroy());
  },
  "answers without end": (res, take) => {
    take();
    res.writeHead(200);
    const flood = () => {
      if (!res.destroyed) res.write(" ".repeat(16_384), () => setImmediate(flood));
    };
    flood();
  },
};

/** A tracking service that records each event every time it takes it, and fails on command. */
export async function startService() {
  const taken: Taken[] = [];
  let requests = 0;
  let fault: keyof typeof faults | undefined;

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    requests++;
    let text = "";
    for await (const chunk of req) text += chunk;
    const take = () => {
      if (req.method === "POST") taken.push(takenFrom(req, text));
    };
    const misbehave = fault === undefined ? undefined : faults[fault];
    if (misbehave) return misbehave(res, take);
    take();
    answer(res, req.method === "POST" ? 201 : 200, {}, { success: true, hasAffiliate: false });
  }

  function listen(port: number): Server {
    return createServer((req, res) => void handle(req, res).catch(() => {})).listen(port, "127.0.0.1");
  }

  let server = listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  async function stop(): Promise<void> {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }

  return {
    url: new URL(`http://127.0.0.1:${port}`),
    taken,
    get requests() {
      return requests;
    },
    async fail(name: keyof typeof faults): Promise<void> {
      fault = name;
      if (faults[name] === undefined) await stop();
    },
    async heal(): Promise<void> {
      // What it has left hanging goes with the failure.
      if (fault?.startsWith("hangs")) server.closeAllConnections();
      fault = undefined;
      if (server.listening) return;
      server = listen(port);
      await once(server, "listening");
    },
    stop,
  };
}

function takenFrom({ headers, url = "" }: IncomingMessage, text: string): Taken {
  const { sessionId, source, customerName, leadValue } = JSON.parse(text);
  return {
    key: String(headers["idempotency-key"]),
    visitor: sessionId,
    nth: Number(leadValue ?? customerName ?? source),
    isPayment: url.endsWith("/lead/payment"),
  };
}
