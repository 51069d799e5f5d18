// @ts-check
// A payment gateway such as one that the tracking service does not integrate natively. It has Stripe's events: it tells the shop
// what it has charged and refunded by a signed webhook, and more than once.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";

export function createGateway(secret = randomUUID()) {
  /** @type {Map<string, object & { amount: number }>} */
  const charges = new Map();

  /** @param {string | Buffer} body */
  const signatureOf = (body) => createHmac("sha256", secret).update(body).digest("hex");

  /** @param {string} webhookUrl @param {string} type @param {object} object */
  async function tell(webhookUrl, type, object) {
    const body = JSON.stringify({ id: randomUUID(), object: "event", type, data: { object } });
    const headers = { "content-type": "application/json", "gateway-signature": signatureOf(body) };
    for (let delivery = 1; delivery <= 2; delivery++)
      await fetch(webhookUrl, { method: "POST", headers, body });
  }

  return {
    /**
     * Charges a customer.
     *
     * @param {string} webhookUrl
     * @param {{ id?: string, customer: string, total: number }} sale `total` is in euros.
     */
    async charge(webhookUrl, { id = randomUUID(), customer, total }) {
      const amount = Math.round(total * 100);
      const charge = { id, customer, currency: "eur", amount, amount_captured: amount, captured: true };
      charges.set(id, charge);
      await tell(webhookUrl, "charge.succeeded", charge);
    },

    /** Pays a whole charge back. @param {string} webhookUrl @param {string} id */
    async refund(webhookUrl, id) {
      const charge = charges.get(id);
      if (charge)
        await tell(webhookUrl, "charge.refunded", {
          ...charge,
          amount_refunded: charge.amount,
          refunded: true,
        });
    },

    /**
     * The event in a webhook's body; nothing if somebody else signed it.
     *
     * @param {unknown} body
     * @param {string | undefined} signature
     * @returns {unknown}
     */
    read(body, signature = "") {
      if (!Buffer.isBuffer(body)) return undefined;
      const [ours, theirs] = [Buffer.from(signatureOf(body)), Buffer.from(signature)];
      if (ours.length !== theirs.length || !timingSafeEqual(ours, theirs)) return undefined;
      return JSON.parse(String(body));
    },
  };
}
