import { IncomingMessage } from "node:http";
import type { Request } from "express";
import { cookiesIn } from "./cookies.js";

/** What `Headers` of the Fetch standard, and of frameworks that wrap them, have in common. */
export interface HeadersLike {
  /** The header's value, whatever the case of its name. */
  get(name: string): string | null | undefined;
}

/**
 * Where an attribution can be read from: a request of Express, of Node, or of a framework that hands on its headers; a
 * `Request` of the Fetch standard, or its `Headers`.
 */
export type RequestSource =
  | IncomingMessage
  | { readonly headers: HeadersLike | IncomingMessage["headers"] }
  | HeadersLike;

/**
 * The source as an Express request, as far as attribution, `consent` and `session` read one: `headers`, `cookies`, `get()`,
 * and what else a Node request has. An Express request is that itself. `undefined` for what is no request.
 */
export function requestFrom(source: unknown): Request | undefined {
  const { headers, get } = Object(source) as { headers?: unknown; get?: unknown };
  if (source instanceof IncomingMessage && typeof get === "function") return source as Request;
  if (isHeaders(headers)) return standIn(headers);
  if (typeof headers === "object" && headers !== null) {
    const named = headers as IncomingMessage["headers"];
    return standIn({ get: (name) => [named[name]].flat().join("; ") || undefined }, source as object);
  }
  return isHeaders(source) ? standIn(source) : undefined;
}

function isHeaders(value: unknown): value is HeadersLike {
  return typeof Object(value).get === "function";
}

/** `rest`: where everything else is to be found. */
function standIn(headers: HeadersLike, rest: object | null = null): Request {
  const get = (name: string) => headers.get(name.toLowerCase()) ?? undefined;
  const cookie = get("cookie");
  const own = { headers: { cookie }, cookies: cookiesIn(cookie), get, header: get };
  return Object.create(
    rest,
    Object.fromEntries(Object.entries(own).map(([name, value]) => [name, { value }])),
  ) as Request;
}
