import type { Request, Response } from "express";
import { policyWith } from "../browser/shell.js";

/** Thrown on the way to an answer. The page shows its message. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const HEADERS = {
  "content-security-policy": policyWith("'self'"),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-robots-tag": "noindex",
};

/** Sets every answer's headers, and removes what the host allows other sites for its own pages. */
export function protect(res: Response): void {
  for (const name of res.getHeaderNames()) if (name.startsWith("access-control-")) res.removeHeader(name);
  for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value);
}

export function send(res: Response, status: number, type: string, text: string): void {
  res.statusCode = status;
  res.setHeader("content-type", `${type}; charset=utf-8`);
  res.setHeader("content-length", Buffer.byteLength(text));
  res.end(text);
}

export function sendJson(res: Response, status: number, body: unknown): void {
  send(res, status, "application/json", JSON.stringify(body));
}

const MOST_BYTES = 4_096;

/** The JSON of a body of at most 4 KiB, whether or not the host's parser has read it. */
export async function readJson(req: Request): Promise<unknown> {
  const type = req.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new Refused(415, "The body must be JSON.");
  // Not `req.body !== undefined`: some parsers set it for bodies that they leave unread.
  const body: unknown = req.readableEnded ? req.body : await bytesOf(req);
  if (typeof body !== "string" && !Buffer.isBuffer(body)) return body;
  try {
    return JSON.parse(String(body));
  } catch {
    throw new Refused(400, "The body is not JSON.");
  }
}

async function bytesOf(req: Request): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The answer goes out on the same connection, so the request must not be destroyed.
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) {
      req.res?.setHeader("connection", "close");
      throw new Refused(413, `The body is longer than ${MOST_BYTES} bytes.`);
    }
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks);
}
