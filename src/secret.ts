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

/** Masks the e-mail addresses in a text, for log lines and notices: `alice@shop.example` → `a***@shop.example`. */
export function maskEmails(text: string): string {
  return text.replace(/[^\s@<>"(),:;]+@/g, (local) => `${local[0]}***@`);
}
