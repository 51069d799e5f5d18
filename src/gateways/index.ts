/**
 * Turns what a payment gateway tells into what is to be done: a sale, a refund, or nothing. Each
 * function takes what the gateway's own library gives after it has verified the signature. A sale
 * and its refunds have one `paymentId`.
 *
 * An event of another kind, an amount of zero and a payment that is not captured are `undefined`. A
 * malformed event throws an `AffiliateError`, `ERR_AFFILIATE_GATEWAY`, which names the gateway, the
 * event and the field.
 *
 * @module express-affiliate/gateways
 */

export { type AdyenOptions, adyen } from "./adyen.js";
export { majorUnits } from "./amounts.js";
export { braintree } from "./braintree.js";
export type { Gateway } from "./errors.js";
export { lemonSqueezy } from "./lemon-squeezy.js";
export { metadata, type Snapshot } from "./metadata.js";
export { mollie } from "./mollie.js";
export { paddle } from "./paddle.js";
export { paypal } from "./paypal.js";
export { razorpay } from "./razorpay.js";
export { square } from "./square.js";
export { stripe } from "./stripe.js";
export { type Refund, type Refunded, refunded, type Sale, type Told } from "./told.js";
