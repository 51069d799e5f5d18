import { inspect } from "node:util";

const HIDDEN = "[redacted]";

/** A string that is sent and never shown: not by inspect, JSON, a template, nor in what a service echoes. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** The text without this secret in it. */
  removeFrom(text: string): string {
    return text.replaceAll(this.#value, HIDDEN);
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

/** Masks an e-mail address: `alice@shop.example` → `a***@shop.example`. */
export function maskEmail(address: string): string {
  return `${address[0]}***${address.slice(address.lastIndexOf("@"))}`;
}

// Begins where a word begins and nowhere within it: however long the text, it is read once.
const BEFORE_AT = /(?<![^\s@<>"(),:;])[^\s@<>"(),:;]+@/g;

/** Masks the e-mail addresses in a text, for log lines and notices. */
export function maskEmails(text: string): string {
  return text.replace(BEFORE_AT, (local) => `${local[0]}***@`);
}
