import { decimalsIn, isWhole, majorUnits } from "./amounts.js";
import { type Gateway, gatewayError, shown } from "./errors.js";
import { attributionIn, type Snapshot } from "./metadata.js";

/**
 * Reads fields of an event by their paths, as the gateway's documentation has them. If a gateway's
 * library has renamed `customer_id` to `customerId`, that is found, too.
 */
export class Fields {
  readonly #gateway: Gateway;
  readonly #event: string;
  readonly #root: unknown;
  readonly #at: string;

  private constructor(gateway: Gateway, event: string, root: unknown, at = "") {
    this.#gateway = gateway;
    this.#event = event;
    this.#root = root;
    this.#at = at;
  }

  /** The event's type, which stands in its field `typeField`, and its fields. */
  static of(gateway: Gateway, given: unknown, typeField: string): { type: string; event: Fields } {
    if (typeof given !== "object" || given === null || Array.isArray(given) || ArrayBuffer.isView(given))
      throw gatewayError(
        `${gateway}: the event: \`${typeField}\` is missing, because the event must be an object, got ${shown(given)}`,
      );
    const type = new Fields(gateway, "the event", given).text(typeField);
    const isName = /^[\w.]{1,64}$/.test(type);
    return { type, event: new Fields(gateway, isName ? type : "the event", given) };
  }

  /** The fields below one, so that `at("data.object").text("id")` reads `data.object.id`. */
  at(path: string): Fields {
    return new Fields(this.#gateway, this.#event, this.get(path), `${this.#at}${path}.`);
  }

  /** Whatever is there. */
  get(path: string): unknown {
    return valueAt(this.#root, path);
  }

  /** A text that must be there. */
  text(path: string): string {
    const value = this.get(path);
    return typeof value === "string" && value !== "" ? value : this.refuse(path, "a text");
  }

  /** An id or an address that may be missing. */
  maybe(path: string): string | undefined {
    const value = this.get(path);
    if (Number.isSafeInteger(value)) return String(value);
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  /** A currency's code, in capitals. */
  currency(path: string): string {
    const code = this.text(path).toUpperCase();
    return decimalsIn(code, this.#gateway) === undefined ? this.refuse(path, "a currency of ISO 4217") : code;
  }

  /** An amount in minor units, as an amount in major units. */
  minor(path: string, currency: string): number {
    const value = this.get(path);
    if (!isWhole(value)) return this.refuse(path, "a whole number of minor units");
    return majorUnits(value as number | string | bigint, currency, this.#gateway);
  }

  /** An amount in minor units and its currency, as one in major units. */
  money(path: string, currencyPath: string): { amount: number; currency: string } {
    const currency = this.currency(currencyPath);
    return { amount: this.minor(path, currency), currency };
  }

  /** An amount in major units, as a decimal text: "19.90". Its sign is dropped if it may have one. */
  decimal(path: string, { signed = false } = {}): number {
    const value = this.get(path);
    const [sign, digits] =
      (typeof value === "string" && /^(-?)(\d{1,15}(?:\.\d{1,4})?)$/.exec(value)?.slice(1)) || [];
    return digits === undefined || (sign && !signed)
      ? this.refuse(path, 'a decimal text such as "19.90"')
      : Number(digits);
  }

  /** What `metadata` wrote. */
  snapshot(path: string): Snapshot | undefined {
    return attributionIn(this.get(path));
  }

  /** Whether the field is there. */
  has(path: string): boolean {
    return (this.get(path) ?? undefined) !== undefined;
  }

  refuse(path: string, mustBe: string): never {
    const field = `\`${this.#at}${path}\``;
    throw gatewayError(
      `${this.#gateway}: ${this.#event}: ${field} must be ${mustBe}, got ${shown(this.get(path))}`,
    );
  }
}

/** A name may contain a dot: Adyen has `metadata.key`. */
function valueAt(parent: unknown, path: string): unknown {
  if (typeof parent !== "object" || parent === null) return undefined;
  const camelCase = path.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  for (const name of [path, camelCase])
    if (Object.hasOwn(parent, name)) return (parent as Record<string, unknown>)[name];
  const dot = path.indexOf(".");
  return dot < 0 ? undefined : valueAt(valueAt(parent, path.slice(0, dot)), path.slice(dot + 1));
}
