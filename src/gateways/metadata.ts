import { type Gateway, gatewayError } from "./errors.js";

/** What `req.affiliate.snapshot()` gives, also as a row's nullable columns. */
export type Snapshot = {
  /** The id of the click that brought the visitor. */
  readonly clickId?: string | null | undefined;
  /** The visitor's session id. */
  readonly sessionId?: string | null | undefined;
};

/** The most characters of one value, as the gateways document it. Others name no limit. */
const LONGEST: Partial<Record<Gateway, number>> = {
  stripe: 500,
  paypal: 255, // `custom_id` of an order; that of a subscription may have 127
  braintree: 255,
  mollie: 1_000,
  razorpay: 256,
  adyen: 80,
};

/**
 * Writes a snapshot for a gateway's metadata, whose events give it back as the sale's
 * `attribution`. One key, `affiliate`, with the snapshot's JSON; none if the snapshot has no ids.
 * PayPal has one text instead, with shorter names, so that the ids of `onClick` fit into a
 * subscription's: `custom_id: metadata(snapshot, "paypal").affiliate`.
 *
 * @param gateway Whose limit of length. Default: Stripe's, 500 characters.
 * @throws AffiliateError `ERR_AFFILIATE_GATEWAY` if it is longer than that gateway allows: keep the
 * snapshot on your user's row.
 *
 * @example
 * ```js
 * import { metadata } from "express-affiliate/gateways";
 *
 * const payment_intent_data = { metadata: metadata(req.affiliate.snapshot()) };
 * ```
 */
export function metadata(
  snapshot: Snapshot | null | undefined,
  gateway: Gateway = "stripe",
): Record<string, string> {
  const { clickId, sessionId } = snapshot ?? {};
  if (!clickId && !sessionId) return {};
  const ids = { clickId: clickId || undefined, sessionId: sessionId || undefined };
  const short = { aff: { c: ids.clickId, s: ids.sessionId } };
  const affiliate = JSON.stringify(gateway === "paypal" ? short : ids);
  const longest = LONGEST[gateway] ?? Number.POSITIVE_INFINITY;
  if (affiliate.length > longest)
    throw gatewayError(
      `${gateway}: metadata: \`affiliate\` must have at most ${longest} characters, got ${affiliate.length}`,
    );
  return { affiliate };
}

/** What `metadata` wrote. Another text there is the host's own, and no attribution. */
export function attributionIn(text: unknown): Snapshot | undefined {
  if (typeof text !== "string" || !text.startsWith("{")) return undefined;
  try {
    const { aff, clickId = aff?.c, sessionId = aff?.s } = JSON.parse(text);
    const isId = (id: unknown) => id === undefined || typeof id === "string";
    if (!isId(clickId) || !isId(sessionId) || (clickId ?? sessionId) === undefined) return undefined;
    return JSON.parse(JSON.stringify({ clickId, sessionId }));
  } catch {
    return undefined;
  }
}
