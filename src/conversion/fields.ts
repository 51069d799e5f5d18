import { types } from "node:util";
import { addressIn } from "../shared/emails.js";
import { amountFrom, textOf } from "../shared/money.js";
import { kindOf } from "../shared/printable.js";
import { cut } from "../shared/text.js";
import { A_REFERENCE, isReference } from "./reference.js";
import { isTextOfNothing, isVisitorId } from "./visitor-ids.js";

/** Reads the value of one field of a host's report; `undefined` if there is none. */
export type Field<Value> = (given: unknown) => Value | Wrong | typeof NO_ID;

/** Why a report is refused. It shows no value but an amount or the text of a missing id. */
export class Wrong {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/** A value that is no id, such as the text of a missing one: as if there were none. */
export const NO_ID = Symbol("no id");

// Chosen: no real e-mail address, name or id is longer.
const LONGEST_EMAIL = 320;
export const LONGEST_TEXT = 256;

/** The host's own id: a string on the wire (§2.3), a number or an object in many databases. */
export function hostId(given: unknown): string | Wrong {
  const id = typeof given === "object" ? textOfId(given) : given;
  if (isHostId(id)) return String(id);
  const got = isTextOfNothing(given) ? `the text "${given}"` : kindOf(given);
  return new Wrong(
    `must be a text of 1 to ${LONGEST_TEXT} characters, an integer, or an id such as an ObjectId, got ${got}`,
  );
}

export function optionalHostId(given: unknown): string | undefined | Wrong | typeof NO_ID {
  if (isTextOfNothing(given)) return NO_ID;
  return given === undefined || given === null ? undefined : hostId(given);
}

/** A visitor's id. A text of another form is left out. */
export function visitorId(given: unknown): string | undefined | typeof NO_ID {
  if (isTextOfNothing(given) || typeof (given ?? "") !== "string") return NO_ID;
  return isVisitorId(given) ? given : undefined;
}

/** An affiliate's. */
export function reference(given: unknown): string | Wrong {
  if (isReference(given)) return given;
  return new Wrong(`must be an affiliate's reference: ${A_REFERENCE}, got ${kindOf(given)}`);
}

export function email(given: unknown): string | Wrong {
  const isShort = typeof given === "string" && given.length <= 2 * LONGEST_EMAIL;
  const address = isShort ? addressIn(given) : undefined;
  if (address === undefined) return new Wrong(`must be an e-mail address, got ${kindOf(given)}`);
  if (address.length > LONGEST_EMAIL) return new Wrong(`must be at most ${LONGEST_EMAIL} characters`);
  // Two addresses that differ in an unpaired surrogate would have one key: UTF-8 has U+FFFD.
  return address.isWellFormed() ? address : new Wrong("must not contain half a character");
}

/** Cut to `longest`. Null, as databases return it, and an empty string count as missing. */
export const text =
  (longest: number): Field<string | undefined> =>
  (given) => {
    const all = given ?? "";
    if (typeof all !== "string") return new Wrong(`must be a text, got ${kindOf(all)}`);
    return all === "" ? undefined : cut(all, longest);
  };

export function amount(given: unknown): number | Wrong {
  const read = amountFrom(given);
  return typeof read === "number" ? read : new Wrong(read);
}

/** In milliseconds since the epoch. */
export function time(given: unknown): number | undefined | Wrong {
  if (given === undefined || given === null) return undefined;
  // Not `instanceof`: a test runner may have a `Date` of its own.
  const read = types.isDate(given) ? Date.prototype.getTime.call(given) : Number.NaN;
  return Number.isNaN(read) ? new Wrong(`must be a valid Date, got ${kindOf(given)}`) : read;
}

/** Of an ObjectId, a UUID or a Long. */
function textOfId(id: object | null): string | undefined {
  const text = Array.isArray(id) || ArrayBuffer.isView(id) ? undefined : textOf(id);
  return text !== undefined && /^[\w-]+$/.test(text) && /\d/.test(text) ? text : undefined;
}

function isHostId(id: unknown): boolean {
  if (isTextOfNothing(id)) return false;
  const isId =
    typeof id === "string" ? id.isWellFormed() : typeof id === "bigint" || Number.isSafeInteger(id);
  return isId && id !== "" && String(id).length <= LONGEST_TEXT;
}
