import { IncomingMessage } from "node:http";
import type { Request } from "express";
import { cookiesIn } from "./cookies.js";

/** `Headers` of the Fetch standard, and their like in frameworks that wrap them. */
export interface HeadersLike {
  /** A header's value. The name's case does not matter. */
  get(name: string): string | null | undefined;
}

/**
 * A request of Express, of Node, of a framework that exposes headers, or of Fetch; or `Headers`.
 */
export type RequestSource =
  | IncomingMessage
  | { readonly headers: HeadersLike | IncomingMessage["headers"] }
  | HeadersLike;

/**
 * The source as an Express request, with what attribution, `consent` and `session` read: `headers`,
 * `cookies`, `get()` and the members of a Node request. `undefined` if the source is no request.
 */
export function requestFrom(source: unknown): Request | undefined {
  const { headers, get, cookies } = Object(source) as { headers?: unknown; get?: unknown; cookies?: unknown };
  if (source instanceof IncomingMessage && typeof get === "function") return source as Request;
  if (isHeaders(headers)) return requestLike(headers);
  if (typeof headers === "object" && headers !== null) {
    // An AWS Lambda event has cookies beside its headers, or header names in any case.
    const apart = Array.isArray(cookies) ? { cookie: cookies } : {};
    const all = Object.entries({ ...apart, ...headers });
    const valuesOf = (name: string) =>
      all.filter(([header]) => header.toLowerCase() === name).map(([, value]) => value);
    return requestLike({ get: (name) => valuesOf(name).flat().join("; ") || undefined }, source as object);
  }
  return isHeaders(source) ? requestLike(source) : undefined;
}

function isHeaders(value: unknown): value is HeadersLike {
  return typeof Object(value).get === "function";
}

/** An object with these headers, and all other members of `rest`. */
function requestLike(headers: HeadersLike, rest: object | null = null): Request {
  const get = (name: string) => headers.get(name.toLowerCase()) ?? undefined;
  const cookie = get("cookie");
  const members = { headers: { cookie }, cookies: cookiesIn(cookie), get, header: get };
  // Members of `rest` may be read-only.
  return Object.create(rest, Object.getOwnPropertyDescriptors(members)) as Request;
}
