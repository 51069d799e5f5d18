import type { InvalidInput } from "../conversion/kind-row.js";
import { type Attribution, isNoVisitorId, isVisitorId } from "../conversion/visitor-ids.js";
import { harmless, isThenable } from "../shared/harmless.js";
import { namedAs, shown } from "../shared/printable.js";

/** JSON as ORMs type it, such as Prisma's `JsonValue`. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json | undefined };

/**
 * What `req.affiliate.snapshot()` gave, as it comes back from the host's database: an object, a row
 * with nullable columns, a gateway's `metadata`, JSON text, or nothing. Other fields are ignored;
 * without ids, no affiliate referred the customer. Anything else is `rejected` as `invalid`, also
 * an object with a snapshot under another name, or with ids under names such as `click_id`.
 */
export type AttributionInput =
  | { readonly clickId?: string | null | undefined; readonly sessionId?: string | null | undefined }
  | Json
  | undefined;

const WHAT_IT_IS = "must be what `req.affiliate.snapshot()` gave, as an object or as JSON text, or nothing";

// Matches a name of which only the letters are left: `svcclickid` of `svc_click_id`.
const NEARLY = /^(?:svc|affiliate)?(click|session)ids?$/i;

type OnNoId = (place: string, text: string) => void;

/**
 * Reads an `attribution` argument. A mistake is reported, because no affiliate earns by an event
 * without ids. Calls `onNoId` with a text such as "undefined".
 */
export function attributionFrom(given: unknown, onNoId: OnNoId): Attribution | InvalidInput {
  // An ORM's row may have getters that throw.
  const read = harmless(() => idsIn(parsed(given), onNoId)) ?? "it threw when it was read";
  return typeof read === "string" ? { invalid: `the attribution ${WHAT_IT_IS}: ${read}` } : read;
}

/** The ids, or what is wrong. */
function idsIn(given: unknown, onNoId: OnNoId): Attribution | string {
  if (given === undefined || given === null) return {};
  if (typeof given !== "object" || Array.isArray(given)) return `got ${shown(given)}`;
  const mend = hasIds(given) ? undefined : mendOf(given);
  if (mend) return mend;
  const { clickId, sessionId } = given as Record<string, unknown>;
  const ids: Record<string, string> = {};
  for (const [name, id] of Object.entries({ clickId, sessionId })) {
    if (isVisitorId(id)) ids[name] = id;
    else if (isNoVisitorId(id)) onNoId(`the attribution's \`${name}\``, id);
    else if (id !== undefined && id !== null) return `its \`${name}\` must be an id, got ${shown(id)}`;
  }
  return ids;
}

function hasIds(given: unknown): given is object {
  return typeof given === "object" && given !== null && ("clickId" in given || "sessionId" in given);
}

/** What to write if it is nearly an attribution: a silent skip would cost every commission. */
function mendOf(given: object): string | undefined {
  if (isThenable(given)) return "got a promise; await it";
  if (Symbol.iterator in given && Object(given).size !== 0) return "got a map or bytes: pass object or text";
  // An ORM's row may have the field in its prototype.
  for (const name of new Set([...Object.keys(given), "affiliate"])) {
    const value: unknown = Reflect.get(given, name);
    if (hasIds(parsed(value))) return `hand over its ${namedAs(name)}`;
    const field = NEARLY.exec(name.replaceAll(/[^a-z]/gi, ""))?.[1]?.toLowerCase();
    if (field)
      return `its ${namedAs(name)} must be called \`${field === "click" ? "clickId" : "sessionId"}\``;
    if (name === "matchByEmail" || name === "transaction")
      return `${namedAs(name)} is an option: hand over \`undefined\` before it, if there is no attribution`;
  }
  return undefined;
}

/** What is no text, or no JSON, is returned as it is. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
