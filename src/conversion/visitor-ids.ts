import { hash } from "node:crypto";

/** Links a conversion to a click (specification, section 1). Plain JSON, for the user's row. */
export type Attribution = {
  /** The id of the click that brought the visitor: 1 to 256 visible ASCII characters. */
  readonly clickId?: string;
  /** The visitor's session id, of the same form. */
  readonly sessionId?: string;
};

const VISITOR_ID = /^[\x21-\x7e]{1,256}$/;

export function isVisitorId(value: unknown): value is string {
  return typeof value === "string" && VISITOR_ID.test(value) && !isNoVisitorId(value);
}

// The status endpoint has the id in its path (§4.5), from which URL parsers remove `.` and `..`.
const DOTS: readonly unknown[] = [".", ".."];

/** A text of an id's form that is no visitor's id: the text of a missing value, `.` or `..`. */
export function isNoVisitorId(value: unknown): value is string {
  return isTextOfNothing(value) || DOTS.includes(value);
}

const LOGIN_SESSION = /^(?:login-)?[0-9a-f]{64}$/;

/** A login session's id would let anyone use the visitor's login. A digest is as unique. */
export function loginSessionId(id: string): string {
  return `login-${hash("sha256", id)}`;
}

/**
 * Whether a login session is all that the visitor is known by, as every customer who is logged in
 * is. Also without the prefix, which rows have not that hosts have kept for long.
 */
export function isByLoginSession({ clickId, sessionId }: Attribution): boolean {
  return clickId === undefined && sessionId !== undefined && LOGIN_SESSION.test(sessionId);
}

export const TEXTS_OF_NOTHING: readonly unknown[] = ["undefined", "null", "NaN", "[object Object]"];

/** What `String(…)` makes of a missing value. As an id, it would be the same for all. */
export function isTextOfNothing(value: unknown): value is string {
  return TEXTS_OF_NOTHING.includes(value);
}
