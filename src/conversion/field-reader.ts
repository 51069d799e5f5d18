import { types } from "node:util";
import { amountFrom } from "../shared/money.js";
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

  /** The host's own id: a string on the wire (§2.3), a number in many databases. */
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
      : this.#refuse(name, `must be an affiliate's reference: ${A_REFERENCE}`);
  }

  // Refuses only what no mail system can deliver to: a stricter pattern would lose conversions.
  email(name: string, longest: number): string {
    const email = this.#take(name);
    if (typeof email !== "string") return this.#refuse(name, "must be an e-mail address");
    if (email.length > longest) return this.#refuse(name, `must be at most ${longest} characters`);
    if (!/^[^\s@]+@[^\s@]+$/.test(email)) return this.#refuse(name, "must be an e-mail address");
    // Two addresses that differ in an unpaired surrogate would have one key: UTF-8 has U+FFFD.
    if (!email.isWellFormed()) return this.#refuse(name, "must not contain half a character");
    return email;
  }

  /** Cut to `longest`. Null, as databases return it, and an empty string count as missing. */
  text(name: string, longest: number): string | undefined {
    const text = this.#take(name) ?? "";
    if (typeof text !== "string") return this.#refuse(name, "must be a text");
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
    if (Number.isNaN(time)) this.#refuse(name, "must be a valid Date");
    return time;
  }

  #hostIdFrom(name: string, longest: number, id: unknown): string {
    if (isHostId(id, longest)) return String(id);
    const isNothing = isTextOfNothing(id);
    return this.#refuse(
      name,
      isNothing
        ? `must be an id, got the text "${id}"`
        : `must be a string of 1 to ${longest} characters or an integer`,
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

function isHostId(id: unknown, longest: number): id is string | number | bigint {
  if (isTextOfNothing(id)) return false;
  const isId =
    typeof id === "string" ? id.isWellFormed() : typeof id === "bigint" || Number.isSafeInteger(id);
  return isId && id !== "" && String(id).length <= longest;
}
