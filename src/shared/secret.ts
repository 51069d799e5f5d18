import { inspect } from "node:util";
import { printable } from "./printable.js";

export const HIDDEN = "[redacted]";

/**
 * A string that is sent, and never shown: not by `inspect`, JSON, templates or a service's echo.
 */
export class Secret {
  readonly #value: string;
  #spellings: RegExp | undefined;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** The text without this secret in any spelling, also within a longer base64 text. */
  removeFrom(text: string): string {
    this.#spellings ??= new RegExp(spellingsOf(this.#value), "g");
    return text.replaceAll(this.#spellings, HIDDEN);
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}

/** A regular expression for a text, plain, percent-encoded, escaped as in JSON, or in base64. */
export function spellingsOf(value: string): string {
  const spelt = Array.from(value, (character) => {
    const bytes = [...Buffer.from(character)].map(
      (byte) => `%${anyCase(byte.toString(16).padStart(2, "0"))}`,
    );
    // The encoded form first: of %25, a plain % would leave 25.
    return `(?:${bytes.join("")}|\\\\?${literally(character)})`;
  });
  return [spelt.join(""), ...[0, 1, 2].flatMap((offset) => inBase64(value, offset))].join("|");
}

/** The secret's base64 that is the same in all longer texts, if `offset` bytes of 3 precede it. */
function inBase64(value: string, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]);
  const sure = bytes.toString("base64").slice(offset && offset + 1, Math.floor((bytes.length * 8) / 6));
  // Shorter ones occur in many texts by chance.
  if (sure.length < 6) return [];
  const characters = Array.from(sure, (sign) => BASE64_SIGNS[sign] ?? sign);
  return [`[\\w+/-]{0,3}${characters.join("")}[\\w+/-]{0,2}`];
}

// base64url has other signs, and they may be percent-encoded.
const BASE64_SIGNS: Record<string, string> = { "+": "(?:[+-]|%2[bB])", "/": "(?:[/_]|%2[fF])" };

/** A regular expression for this text alone. */
function literally(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}

function anyCase(hex: string): string {
  return hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** The service's words, for people: in one line, without the secret. */
export function presentable(text: string, secret: Secret | undefined): string {
  return printable(secret?.removeFrom(text) ?? text);
}
