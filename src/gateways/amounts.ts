import { type Gateway, gatewayError, shown } from "./errors.js";

const decimalsOf = (decimals: number, codes: string) =>
  Object.fromEntries(codes.split(" ").map((code) => [code, decimals]));

/**
 * ISO 4217. Not `Intl`'s: its decimals are those that people read, so that it has none for HUF,
 * COP, IDR, PKR and others, which gateways count in hundredths.
 */
const ISO_4217: Readonly<Record<string, number>> = {
  ...decimalsOf(
    2,
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNH CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STD STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG",
  ),
  ...decimalsOf(0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"),
  ...decimalsOf(3, "BHD IQD JOD KWD LYD OMR TND"),
};

/**
 * What a gateway counts in another way.
 * Stripe: https://docs.stripe.com/currencies#special-cases.
 * Adyen: https://docs.adyen.com/development-resources/currency-codes.
 */
const EXCEPTIONS: Partial<Record<Gateway, Readonly<Record<string, number>>>> = {
  stripe: { ISK: 2, MGA: 0, UGX: 2 },
  adyen: { CLP: 2, CVE: 0, IDR: 0, ISK: 2 },
};

/** How many decimals a currency, in capitals, has; `undefined` if there is none of that name. */
export function decimalsIn(currency: string, gateway?: Gateway): number | undefined {
  return (gateway && EXCEPTIONS[gateway]?.[currency]) ?? ISO_4217[currency];
}

/**
 * Converts an amount in a currency's smallest unit: 1990 of EUR is 19.9, of JPY 1990, of KWD 1.99.
 *
 * @param amount An integer: a number, a text or a bigint.
 * @param currency ISO 4217, in small or capital letters.
 * @param gateway Whose decimals. Default: those of ISO 4217.
 * @throws AffiliateError `ERR_AFFILIATE_GATEWAY` for an unknown currency, or what is no amount.
 */
export function majorUnits(amount: number | string | bigint, currency: string, gateway?: Gateway): number {
  const code = typeof currency === "string" ? currency.toUpperCase() : "";
  const decimals = decimalsIn(code, gateway);
  if (decimals === undefined)
    throw gatewayError(`\`currency\` must be one of ISO 4217, got ${shown(currency)}`);
  const major = Number(isWhole(amount) ? amount : Number.NaN) / 10 ** decimals;
  if (!Number.isFinite(major))
    throw gatewayError(
      `\`amount\` must be a whole number of minor units, such as 1990, got ${shown(amount)}`,
    );
  return major;
}

/** Zero or more, without decimals. */
export function isWhole(amount: unknown): boolean {
  if (typeof amount === "number") return Number.isSafeInteger(amount) && amount >= 0;
  if (typeof amount === "bigint") return amount >= 0n;
  return typeof amount === "string" && /^\d{1,20}$/.test(amount);
}
