import { type Affiliate, type AffiliateOptions, affiliate } from "express-affiliate";
import { idempotencyKeys } from "../../src/service/idempotency.js";

const API_KEY = "proof-key";

/** A tracker of a proof's host. It logs nothing, unless the options say so. */
export function trackerOf(baseUrl: string, options: Partial<AffiliateOptions> = {}): Affiliate {
  return affiliate({
    baseUrl,
    clientId: 1,
    apiKey: API_KEY,
    logger: { warn() {}, error() {} },
    ...options,
  });
}

const derived = idempotencyKeys(API_KEY);

/** The `Idempotency-Key` by which a proof's service knows the event of that id. */
export function keyOf(id: string): string {
  return derived({ id, data: {} } as Parameters<typeof derived>[0]);
}
