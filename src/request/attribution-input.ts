import { type Attribution, definedOf, type InvalidInput, isVisitorId } from "../events.js";
import { harmless } from "../shared/harmless.js";
import { shown } from "../shared/printable.js";

/** JSON as ORMs type it, Prisma's `JsonValue` for one. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json | undefined };

/**
 * What `req.affiliate.snapshot()` gave, as it comes back from the host's database: an object, a row with nullable columns,
 * the JSON text of an object, or nothing. What holds no ids where ids are meant is refused when it is used.
 */
export type AttributionInput =
  | { readonly clickId?: string | null | undefined; readonly sessionId?: string | null | undefined }
  | Json
  | undefined;

const WHAT_IT_IS = "must be what `req.affiliate.snapshot()` gave, as an object or as JSON text, or nothing";

/** The ids of what a host hands over as an attribution. A mistake in it is told, for an event without its ids earns nobody anything. */
export function attributionFrom(given: unknown): Attribution | InvalidInput {
  // A row of an ORM may have getters, and a getter may throw.
  return (
    harmless(() => read(typeof given === "string" ? parsed(given) : given)) ??
    wrong("it threw when it was read")
  );
}

function read(given: unknown): Attribution | InvalidInput {
  if (given === undefined || given === null) return {};
  if (typeof given !== "object" || Array.isArray(given)) return wrong(`got ${shown(given)}`);
  const { clickId, sessionId } = given as Record<string, unknown>;
  for (const [name, id] of Object.entries({ clickId, sessionId })) {
    if (id === undefined || id === null || isVisitorId(id)) continue;
    return wrong(`its \`${name}\` is no id but ${shown(id)}`);
  }
  const names = Object.keys(given);
  if (names.length > 0 && !("clickId" in given || "sessionId" in given)) {
    return wrong(`got an object without \`clickId\` and \`sessionId\`, but with ${shown(names.join(", "))}`);
  }
  return definedOf({ clickId: clickId ?? undefined, sessionId: sessionId ?? undefined });
}

/** What is no JSON stays the text that it is. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function wrong(because: string): InvalidInput {
  return { invalid: `the attribution ${WHAT_IT_IS}: ${because}` };
}
