import type { InvalidInput } from "../conversion/invalid-input.js";
import { type Attribution, isNoVisitorId, isVisitorId } from "../conversion/visitor-ids.js";
import { harmless } from "../shared/harmless.js";
import { shown } from "../shared/printable.js";

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
 * without ids, no affiliate referred the customer. Anything else is `rejected` as `invalid`.
 */
export type AttributionInput =
  | { readonly clickId?: string | null | undefined; readonly sessionId?: string | null | undefined }
  | Json
  | undefined;

const WHAT_IT_IS = "must be what `req.affiliate.snapshot()` gave, as an object or as JSON text, or nothing";

type OnNoId = (place: string, text: string) => void;

/**
 * Reads an `attribution` argument. A mistake is reported, because no affiliate earns by an event
 * without ids. Calls `onNoId` with a text such as "undefined".
 */
export function attributionFrom(given: unknown, onNoId: OnNoId): Attribution | InvalidInput {
  // An ORM's row may have getters that throw.
  return (
    harmless(() => read(typeof given === "string" ? parsed(given) : given, onNoId)) ??
    invalidAttribution("it threw when it was read")
  );
}

function read(given: unknown, onNoId: OnNoId): Attribution | InvalidInput {
  if (given === undefined || given === null) return {};
  if (typeof given !== "object" || Array.isArray(given)) return invalidAttribution(`got ${shown(given)}`);
  const { clickId, sessionId } = given as Record<string, unknown>;
  const ids: Record<string, string> = {};
  for (const [name, id] of Object.entries({ clickId, sessionId })) {
    if (isVisitorId(id)) ids[name] = id;
    else if (isNoVisitorId(id)) onNoId(`the attribution's \`${name}\``, id);
    else if (id !== undefined && id !== null)
      return invalidAttribution(`its \`${name}\` must be an id, got ${shown(id)}`);
  }
  return ids;
}

/** A text that is not JSON is returned as it is. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function invalidAttribution(because: string): InvalidInput {
  return { invalid: `the attribution ${WHAT_IT_IS}: ${because}` };
}
