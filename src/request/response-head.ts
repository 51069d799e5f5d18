import { validateHeaderValue } from "node:http";
import type { Response } from "express";
import { harmless } from "../shared/harmless.js";

/** A name and its value, which may be several. */
type Field = readonly unknown[];

const SET_COOKIE = "Set-Cookie";

/** The head of a response at the moment at which it is written. Names match in any case. */
export class Head {
  readonly status: number;
  readonly #res: Response;
  readonly #args: readonly unknown[];
  /** The headers among the arguments of `writeHead`: an object, a flat list, or a list of pairs. */
  readonly #given: unknown;
  readonly #cookies = new Map<string, string>();
  #fields: readonly Field[];
  /** The cookies that the page itself sets, as one value, if there are any. */
  #pageCookies: readonly unknown[] = [];
  #isChanged = false;

  constructor(res: Response, args: readonly unknown[]) {
    const [status, reason, headers] = args;
    this.status = Number(status);
    this.#res = res;
    this.#args = args;
    this.#given = typeof reason === "string" ? headers : (headers ?? reason);
    this.#fields = harmless(() => fieldsOf(this.#given)) ?? [];
  }

  /** The values of a header. */
  get(name: string): string[] {
    const given = this.#fields.filter(isNamed(name)).map(([, value]) => value);
    return (given.length > 0 ? given : this.#ofResponse(name)).flat().map(String);
  }

  /** The names of all headers, in lower case. */
  get names(): string[] {
    return [...this.#res.getHeaderNames(), ...this.#fields.map(([name]) => String(name).toLowerCase())];
  }

  /** Replaces the header, or adds it. */
  set(name: string, value: string): void {
    const given = this.#checked(name);
    const last = given.at(-1);
    this.#fields = this.#fields.filter((field) => field === last || !given.includes(field));
    this.#put(name, last, value);
  }

  remove(name: string): void {
    this.#isChanged = true;
    if (!this.#isRefused) {
      const given = this.#checked(name);
      this.#fields = this.#fields.filter((field) => !given.includes(field));
    }
    this.#res.removeHeader(name);
  }

  /** Whether the page or this package sets a cookie of this name. */
  setsCookie(name: string): boolean {
    return this.#cookies.has(name) || this.get(SET_COOKIE).some((line) => line.startsWith(`${name}=`));
  }

  /** Adds a cookie beside the page's own, in place of this package's of the same name. */
  setCookie(name: string, line: string): void {
    this.#cookies.set(name, line);
  }

  /** What `writeHead` is to be called with. */
  changed(changes: Watch["changes"]): readonly unknown[] {
    for (const change of changes) change(this);
    if (this.#cookies.size > 0) this.#addCookies();
    if (!this.#isChanged) return this.#args;
    const [status, reason] = this.#args;
    const headers = headersAs(this.#given, this.#fields);
    return typeof reason === "string" ? [status, reason, headers] : [status, headers];
  }

  /** Node has refused this head, and may have kept parts of it for the next. */
  takeBack(): void {
    const res = this.#res;
    const ours = [...this.#cookies.values()];
    const kept = this.#ofResponse(SET_COOKIE).flat();
    const page = kept.filter((line) => !ours.includes(line as string));
    if (page.length === kept.length) return;
    const isList = page.length > 1 || Array.isArray(this.#pageCookies[0]);
    if (page.length === 0 && !isList) res.removeHeader(SET_COOKIE);
    else res.setHeader(spelling(res, SET_COOKIE) ?? SET_COOKIE, (isList ? page : page[0]) as string[]);
  }

  #addCookies(): void {
    // Of several fields of one name in a list, Node 20 may send the last alone.
    const last = this.#checked(SET_COOKIE).at(-1);
    this.#pageCookies = last ? [last[1]] : this.#ofResponse(SET_COOKIE);
    this.#put(SET_COOKIE, last, [...this.#pageCookies, ...this.#cookies.values()].flat());
  }

  /** The fields of this name among the arguments. Throws if Node will refuse one of them. */
  #checked(name: string): readonly Field[] {
    const fields = this.#fields.filter(isNamed(name));
    for (const [, value] of fields) validateHeaderValue(name, value as string);
    return fields;
  }

  /**
   * Puts a value where the page's own is, in its spelling. If there is none, it goes to the
   * arguments: a cache of the process may keep all headers that it finds on the response.
   */
  #put(name: string, last: Field | undefined, value: string | readonly unknown[]): void {
    this.#isChanged = true;
    const res = this.#res;
    const present = spelling(res, name);
    if (last) {
      this.#fields = this.#fields.map((field) => (field === last ? [field[0], value] : field));
    } else if (Array.isArray(this.#given) && (present || this.#isRefused)) {
      // A list moves what is on the response to its end.
      res.setHeader(present ?? name, value as string | string[]);
    } else {
      this.#fields = [...this.#fields, [present ?? name, value]];
    }
  }

  /** Node refuses pairs beside headers that were set before. Other middleware may take them. */
  get #isRefused(): boolean {
    return isListOfPairs(this.#given) && this.#res.getHeaderNames().length > 0;
  }

  #ofResponse(name: string): unknown[] {
    return this.#res.hasHeader(name) ? [this.#res.getHeader(name)] : [];
  }
}

interface Watch {
  readonly changes: Set<(head: Head) => void>;
  readonly sight: ((status: number) => void)[];
}

const watches = new WeakMap<Response, Watch>();

/** Calls `change` when a head is written. If Node refuses that head, again for the next one. */
export function changeHead(res: Response, change: (head: Head) => void): void {
  watchOf(res).changes.add(change);
}

/** Calls `see` with the status when a head has been written, before its first byte leaves. */
export function seeHead(res: Response, see: (status: number) => void): void {
  watchOf(res).sight.push(see);
}

/** Replaces `writeHead`, which all ways to send a head call. Once for each response. */
function watchOf(res: Response): Watch {
  const present = watches.get(res);
  if (present) return present;
  const watch: Watch = { changes: new Set(), sight: [] };
  watches.set(res, watch);
  // Middleware above may have replaced it too, and may change the status.
  const { writeHead } = res;
  res.writeHead = function affiliateWriteHead(...args: unknown[]) {
    if (res.headersSent) return Reflect.apply(writeHead, this, args);
    const head = watch.changes.size > 0 ? new Head(res, args) : undefined;
    try {
      const changed = harmless(() => head?.changed(watch.changes)) ?? args;
      const result = Reflect.apply(writeHead, this, changed);
      for (const see of watch.sight.splice(0)) see(res.statusCode);
      return result;
    } catch (error) {
      head?.takeBack();
      throw error;
    }
  };
  return watch;
}

function fieldsOf(given: unknown): readonly Field[] {
  if (isListOfPairs(given)) return given;
  if (!Array.isArray(given)) return Object.entries(Object(given));
  // If their number is odd, the last one stays alone, and Node refuses the head.
  return Array.from({ length: Math.ceil(given.length / 2) }, (_, nth) => given.slice(2 * nth, 2 * nth + 2));
}

/** The fields in the form in which headers were given. */
function headersAs(given: unknown, fields: readonly Field[]): unknown {
  if (!Array.isArray(given)) return Object.fromEntries(fields as [string, unknown][]);
  return isListOfPairs(given) ? fields : fields.flat();
}

function isListOfPairs(given: unknown): given is readonly Field[] {
  return Array.isArray(given) && Array.isArray(given[0]);
}

const isNamed =
  (name: string) =>
  ([fieldName]: Field): boolean =>
    String(fieldName).toLowerCase() === name.toLowerCase();

/** A header's name as the page has written it. HTTP/2 has lower case alone. */
function spelling(res: Response & { getRawHeaderNames?(): string[] }, name: string): string | undefined {
  const names = res.getRawHeaderNames?.() ?? res.getHeaderNames();
  return names.find((written) => written.toLowerCase() === name.toLowerCase());
}

// Caches in front of a host read these before Cache-Control, or instead of it.
const FOR_SHARED_CACHES =
  /(^|-)cdn-cache-control$|^surrogate-control$|^edge-control$|^x-accel-expires$|^x-litespeed-cache-control$/;

const FOR_SHARED_CACHES_ALONE = /^(public|s-maxage|proxy-revalidate|private|no-store)\b/i;

// A directive's value may be quoted, with commas within: RFC 9111, section 5.2.
const DIRECTIVE = /(?:[^,"]|"(?:[^"\\]|\\[\s\S])*(?:"|\\?$))+/g;

const LONGEST_CACHE_CONTROL = 4_096;

/**
 * Keeps the response out of shared caches, even if the handler allows them: a CDN would give a
 * stored page's cookies to all its visitors.
 */
export function keepFromSharedCaches(head: Head): void {
  head.set("Cache-Control", privately(head.get("Cache-Control").join(", ")));
  for (const name of head.names) if (FOR_SHARED_CACHES.test(name)) head.remove(name);
}

/**
 * Makes the visitor's browser ask before it shows this page again. Otherwise a page that an image
 * loaded, or that was opened before consent, could be shown without a request, and be no click.
 */
export function askBeforeEachUse(head: Head): void {
  // Images and scripts are no pages: browsers may keep them.
  const [type = "text/html"] = head.get("Content-Type");
  if (!/^text\/html\b/i.test(type)) return;
  head.set("Cache-Control", [...head.get("Cache-Control"), "no-cache"].join(", "));
}

/** Drops what lets a shared cache keep the response. `no-store` stays: it forbids that too. */
function privately(cacheControl: string): string {
  const directives = (cacheControl.slice(0, LONGEST_CACHE_CONTROL).match(DIRECTIVE) ?? [])
    .map((directive) => directive.trim())
    .filter(Boolean);
  const keeper = directives.some((directive) => /^no-store$/i.test(directive)) ? "no-store" : "private";
  return [keeper, ...directives.filter((directive) => !FOR_SHARED_CACHES_ALONE.test(directive))].join(", ");
}
