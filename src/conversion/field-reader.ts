import { types } from "node:util";
import { addressIn } from "../shared/emails.js";
import { amountFrom, textOf } from "../shared/money.js";
import { kindOf } from "../shared/printable.js";
import { cut } from "../shared/text.js";
import { A_REFERENCE, isReference } from "./reference.js";
import { type Attribution, isTextOfNothing, isVisitorId } from "./visitor-ids.js";

/**
 * Reads the fields of a host's report. If one is wrong, its method adds the reason to `problems`
 * and returns a placeholder. A reason shows no value but an amount or the text of a missing id.
 */
export class FieldReader {
  /** The names of the fields that were asked for. */
  readonly askedFor: string[] = [];
  readonly problems: string[] = [];
  readonly #report: object;

  constructor(report: object) {
    this.#report = report;
  }

  /** The host's own id: a string on the wire (§2.3), a number or an object in many databases. */
  hostId(name: string, longest: number): string {
    return this.#hostIdFrom(name, longest, this.#take(name));
  }

  optionalHostId(name: string, longest: number): string | undefined {
    const id = this.#take(name) ?? undefined;
    return id === undefined || isTextOfNothing(id) ? undefined : this.#hostIdFrom(name, longest, id);
  }

  /** The visitor's ids. A value of another form is left out. */
  visitorIds(): Attribution {
    const ids: { -readonly [Id in keyof Attribution]: string } = {};
    for (const name of ["clickId", "sessionId"] as const) {
      const id = this.#take(name);
      if (isVisitorId(id)) ids[name] = id;
    }
    return ids;
  }

  /** An affiliate's. */
  reference(name: string): string {
    const reference = this.#take(name);
    return isReference(reference)
      ? reference
      : this.#refuse(name, `must be an affiliate's reference: ${A_REFERENCE}, got ${kindOf(reference)}`);
  }

  email(name: string, longest: number): string {
    const given = this.#take(name);
    const isShort = typeof given === "string" && given.length <= 2 * longest;
    const email = isShort ? addressIn(given) : undefined;
    if (email === undefined) return this.#refuse(name, `must be an e-mail address, got ${kindOf(given)}`);
    if (email.length > longest) return this.#refuse(name, `must be at most ${longest} characters`);
    // Two addresses that differ in an unpaired surrogate would have one key: UTF-8 has U+FFFD.
    if (!email.isWellFormed()) return this.#refuse(name, "must not contain half a character");
    return email;
  }

  /** Cut to `longest`. Null, as databases return it, and an empty string count as missing. */
  text(name: string, longest: number): string | undefined {
    const text = this.#take(name) ?? "";
    if (typeof text !== "string") return this.#refuse(name, `must be a text, got ${kindOf(text)}`);
    return text === "" ? undefined : cut(text, longest);
  }

  amount(name: string): number {
    const amount = amountFrom(this.#take(name));
    if (typeof amount === "number") return amount;
    this.#refuse(name, amount);
    return Number.NaN;
  }

  /** In milliseconds since the epoch. */
  time(name: string): number | undefined {
    const date = this.#take(name) ?? undefined;
    if (date === undefined) return undefined;
    // Not `instanceof`: a test runner may have a `Date` of its own.
    const time = types.isDate(date) ? Date.prototype.getTime.call(date) : Number.NaN;
    if (Number.isNaN(time)) this.#refuse(name, `must be a valid Date, got ${kindOf(date)}`);
    return time;
  }

  #hostIdFrom(name: string, longest: number, id: unknown): string {
    const text = typeof id === "object" ? textOfId(id) : id;
    if (isHostId(text, longest)) return String(text);
    const got = isTextOfNothing(id) ? `the text "${id}"` : kindOf(id);
    return this.#refuse(
      name,
      `must be a text of 1 to ${longest} characters, an integer, or an id such as an ObjectId, got ${got}`,
    );
  }

  #take(name: string): unknown {
    this.askedFor.push(name);
    return Reflect.get(this.#report, name);
  }

  #refuse(name: string, why: string): string {
    this.problems.push(`\`${name}\`: ${why}`);
    return "";
  }
}

/** Of an ObjectId, a UUID or a Long. */
function textOfId(id: object | null): string | undefined {
  const text = Array.isArray(id) || ArrayBuffer.isView(id) ? undefined : textOf(id);
  return text !== undefined && /^[\w-]+$/.test(text) && /\d/.test(text) ? text : undefined;
}

function isHostId(id: unknown, longest: number): id is string | number | bigint {
  if (isTextOfNothing(id)) return false;
  const isId =
    typeof id === "string" ? id.isWellFormed() : typeof id === "bigint" || Number.isSafeInteger(id);
  return isId && id !== "" && String(id).length <= longest;
}
