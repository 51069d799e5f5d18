// Copy this file, and keep what your gateway needs.

const decimalsOf = (decimals, currencies) =>
  Object.fromEntries(currencies.split(" ").map((each) => [each, decimals]));
export const ISO_4217 = {
  ...decimalsOf(0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"),
  ...decimalsOf(3, "BHD IQD JOD KWD LYD OMR TND"),
};
const STRIPE = { ...ISO_4217, ISK: 2, UGX: 2, MGA: 0 };
const ADYEN = { ...ISO_4217, CLP: 2, ISK: 2, CVE: 0, IDR: 0 };

/** `amount` may be a number, a text or a bigint. */
export function majorUnits(amount, currency, decimals = ISO_4217) {
  return Number(amount) / 10 ** (decimals[currency.toUpperCase()] ?? 2);
}

/** What each gateway's object becomes. Add `customerEmail`: your user's. */
export const payments = {
  // Integers in minor units:
  stripe: ({ id, amount_paid, currency }) => ({
    paymentId: id,
    leadValue: majorUnits(amount_paid, currency, STRIPE),
  }),
  adyen: ({ pspReference: paymentId, amount: { value, currency } }) => ({
    paymentId,
    leadValue: majorUnits(value, currency, ADYEN),
  }),
  razorpay: ({ id, amount, currency }) => ({ paymentId: id, leadValue: majorUnits(amount, currency) }),
  lemonSqueezy: ({ type, id, attributes }) => ({
    paymentId: `${type} ${id}`, // orders and subscriptions' invoices both count from 1
    leadValue: attributes.total_usd / 100,
  }),
  // A bigint in minor units:
  squareSdk: ({ id, amountMoney: { amount, currency } }) => ({
    paymentId: id,
    leadValue: majorUnits(amount, currency),
  }),
  // A text in minor units:
  paddle: ({ id, currency_code, details: { totals } }) => ({
    paymentId: id,
    leadValue: majorUnits(totals.grand_total, currency_code),
  }),
  // A decimal text in major units: nothing to convert.
  paypal: ({ id, amount }) => ({ paymentId: id, leadValue: amount.value }),
  mollie: ({ id, amount }) => ({ paymentId: id, leadValue: amount.value }),
  braintree: ({ id, amount }) => ({ paymentId: id, leadValue: amount }),
};
