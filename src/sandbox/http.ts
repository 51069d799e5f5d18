import { type IncomingMessage, type RequestListener, type ServerResponse, STATUS_CODES } from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";

export type Handler = (req: IncomingMessage, res: ServerResponse) => void | Promise<void>;

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error answer in the shape of §7. */
export function refusal(status: number, message: string, headers: Record<string, string> = {}): Answer {
  return { status, body: { error: STATUS_CODES[status], message, status }, headers };
}

/** Thrown on the way to an answer. */
export class Refused extends Error {
  readonly answer: Answer;
  constructor(status: number, message: string, headers?: Record<string, string>) {
    super(message);
    this.answer = refusal(status, message, headers);
  }
}

export const MAX_BODY_BYTES = 64 * 1024;

/** Reads a body of up to 64 KiB. A longer one is read to its end: `undefined`. */
export async function readBody(req: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return bytes <= MAX_BODY_BYTES ? Buffer.concat(chunks) : undefined;
}

/** The JSON in a body. Throws `Refused` with 413, 415 or 400. */
export function parseJson(req: IncomingMessage, body: Buffer | undefined): unknown {
  if (body === undefined) throw new Refused(413, `The body is longer than ${MAX_BODY_BYTES} bytes.`);
  const type = req.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json" || req.headers["content-encoding"] !== undefined) {
    throw new Refused(415, "A request body is plain JSON, sent with content type application/json.");
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new Refused(400, "The body is not valid JSON in UTF-8.");
  }
}

export function sendJson(res: ServerResponse, { status, body, headers }: Answer): void {
  send(res, status, "application/json; charset=utf-8", JSON.stringify(body), headers);
}

export function send(
  res: ServerResponse,
  status: number,
  type: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  res.writeHead(status, {
    "content-type": type,
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...headers,
  });
  res.end(text);
}

/** A handler whose errors are answered (§7), so that no request ends the process. */
export function guarded(handle: Handler): RequestListener {
  return async function handleGuarded(req, res) {
    try {
      await handle(req, res);
    } catch (error) {
      if (res.headersSent || res.destroyed) return void res.destroy();
      sendJson(res, error instanceof Refused ? error.answer : refusal(500, String(error)));
    }
  };
}

/** For `clientError`: a request that is not HTTP gets §7's body too. */
export function refuseUnparsable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const status =
    error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const text = JSON.stringify(refusal(status, "The request is not valid HTTP/1.1.").body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}

/**
 * Refuses what a page of another site sends from the developer's browser: under its own name that
 * now stands for this machine (DNS rebinding), or across origins. `host`: what this listens on.
 *
 * @throws Refused
 */
export function refuseForeignPages(req: IncomingMessage, host: string, isForBrowsers: boolean): void {
  const { host: named, origin, "sec-fetch-site": site, "sec-fetch-dest": destination } = req.headers;
  if (named !== undefined && !isOurs(nameIn(named) ?? "", host)) {
    throw new Refused(
      421,
      "The sandbox is asked for by an address, by localhost, or by the name that --host gives it.",
    );
  }
  if (isForBrowsers) return;
  // An image or a script is asked for without an origin. A link to the inspector is a document.
  const isForeign = origin
    ? !URL.canParse(origin) || new URL(origin).host !== named
    : /^(cross|same)-site$/.test(String(site)) && destination !== "document";
  if (isForeign) throw new Refused(403, "This is not for pages of other origins.");
}

/** Names that are not for sale: an address, a name without a dot as Docker's, reserved ends. */
function isOurs(name: string, host: string): boolean {
  return isIP(name) !== 0 || name === host.toLowerCase() || /^[^.]+$|\.(localhost|internal|test)$/.test(name);
}

/** The name before a port, as browsers read it. An IPv6 address is in brackets. */
export function nameIn(host: string): string | undefined {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined;
}
