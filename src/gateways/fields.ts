import { decimalsIn, isWhole, majorUnits } from "./amounts.js";
import { type Gateway, gatewayError, shown } from "./errors.js";
import { attributionIn } from "./metadata.js";
import { known, type Refund, refundOf, type Sale } from "./told.js";

/** A field's path. Of several, the first counts that leads to something. */
type Path = string | readonly string[];

const IN_MAJOR_UNITS: readonly Gateway[] = ["paypal", "braintree", "mollie"];

/**
 * Reads fields of an event by their paths, as the gateway's documentation has them. If a gateway's
 * library has renamed `customer_id` to `customerId`, that is found, too.
 */
export class Fields {
  readonly #from: { readonly gateway: Gateway; readonly event: string; readonly at: string };
  readonly #root: unknown;

  private constructor(from: { gateway: Gateway; event: string; at: string }, root: unknown) {
    this.#from = from;
    this.#root = root;
  }

  /** The event's type, which stands in its field `typeField`, and its fields. */
  static of(gateway: Gateway, given: unknown, typeField: string): { type: string; event: Fields } {
    if (typeof given !== "object" || given === null || Array.isArray(given) || ArrayBuffer.isView(given))
      throw gatewayError(
        `${gateway}: the event: \`${typeField}\` is missing, because the event must be an object, got ${shown(given)}`,
      );
    const from = { gateway, event: "the event", at: "" };
    const type = new Fields(from, given).text(typeField);
    const isName = /^[\w.]{1,64}$/.test(type);
    return { type, event: new Fields(isName ? { ...from, event: type } : from, given) };
  }

  /** The fields below one, so that `at("data.object").text("id")` reads `data.object.id`. */
  at(path: string): Fields {
    return new Fields({ ...this.#from, at: `${this.#from.at}${path}.` }, this.get(path));
  }

  /** What is there, otherwise `undefined`. */
  get(path: string): unknown {
    return valueAt(this.#root, path) ?? undefined;
  }

  /** A text that must be there. */
  text(path: string): string {
    const value = this.get(path);
    return typeof value === "string" && value !== "" ? value : this.refuse(path, "a text");
  }

  /** An id or an address that may be missing. */
  maybe(paths: Path): string | undefined {
    const values = [paths].flat().map((path) => this.get(path));
    const found = values.find((value) => Number.isSafeInteger(value) || (typeof value === "string" && value));
    return found === undefined ? undefined : String(found);
  }

  /** An id that must be there. */
  id(path: Path): string {
    return this.maybe(path) ?? this.refuse([path].flat().at(-1) as string, "a text");
  }

  /** A currency's code, in capitals. */
  currency(path: string): string {
    const code = this.text(path).toUpperCase();
    return decimalsIn(code, this.#from.gateway) === undefined
      ? this.refuse(path, "a currency of ISO 4217")
      : code;
  }

  /**
   * In major units, from minor ones, or from a decimal text: "19.90". Of a refund, some gateways
   * write a minus, which is dropped.
   */
  amount(path: string, currency: string, { isRefund = false } = {}): number {
    const value = this.get(path);
    if (!IN_MAJOR_UNITS.includes(this.#from.gateway)) {
      if (!isWhole(value)) return this.refuse(path, "a whole number of minor units");
      return majorUnits(value as number | string | bigint, currency, this.#from.gateway);
    }
    const [, sign, digits] =
      /^(-?)(\d{1,15}(?:\.\d{1,4})?)$/.exec(typeof value === "string" ? value : "") ?? [];
    return digits === undefined || (sign && !isRefund)
      ? this.refuse(path, 'a decimal text such as "19.90"')
      : Number(digits);
  }

  /** The sale with these fields. Nothing if it is of nothing: a trial, or a coupon of 100 %. */
  sale(
    at: { id: Path; amount: string; currency: string; email?: Path; customer?: Path; affiliate?: string },
    more: { paymentId?: string; currency?: string } = {},
  ): Sale | undefined {
    const { paymentId = this.id(at.id), currency = this.currency(at.currency) } = more;
    const leadValue = this.amount(at.amount, currency);
    if (leadValue === 0) return undefined;
    const customerEmail = this.maybe(at.email ?? []);
    return known<Sale>({
      type: "payment",
      payment: known<Sale["payment"]>({ paymentId, leadValue, customerEmail }),
      currency,
      customerId: this.maybe(at.customer ?? []),
      attribution: at.affiliate === undefined ? undefined : attributionIn(this.get(at.affiliate)),
    });
  }

  /** The refund with these fields: `of` is the sale's id, `soFar` may be missing. */
  refund(
    at: { of: Path; id?: Path; amount?: string; soFar?: string; currency: string },
    more: { isFull?: boolean | undefined; isDispute?: boolean } = {},
  ): Refund {
    const refundId = at.id === undefined ? undefined : this.id(at.id);
    const paymentId = this.id(at.of);
    const currency = this.currency(at.currency);
    const amount = (path: string) => this.amount(path, currency, { isRefund: true });
    return refundOf({
      paymentId,
      refundId,
      amount: at.amount === undefined ? undefined : amount(at.amount),
      refundedSoFar: at.soFar && this.get(at.soFar) !== undefined ? amount(at.soFar) : undefined,
      currency,
      ...more,
    });
  }

  refuse(path: string, mustBe: string): never {
    const { gateway, event, at } = this.#from;
    const got = shown(valueAt(this.#root, path));
    throw gatewayError(`${gateway}: ${event}: \`${at}${path}\` must be ${mustBe}, got ${got}`);
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
