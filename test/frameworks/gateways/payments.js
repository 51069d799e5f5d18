import { refunded } from "express-affiliate/gateways";

/** Units of a currency for one euro, the programme's. Yours come from where your accounts take theirs. */
const perEuro = { EUR: 1, USD: 1.25, JPY: 160, KWD: 0.32 };

/**
 * A shop that learns of its payments from a gateway's webhook.
 *
 * @param express Express itself, 4 or 5.
 * @param verified Resolves with what the gateway's library gives; with nothing, or rejects, if the gateway did not sign it.
 * @param read The gateway's function of `express-affiliate/gateways`.
 * @param windowMs How long customers may return what they bought.
 */
export function createShop({
  express,
  tracker,
  verified,
  read,
  windowMs: WINDOW_MS = 14 * 24 * 60 * 60 * 1_000,
}) {
  const app = express();
  // Tables of the shop's database. `users` is by the gateway's id of the customer, the rest by `paymentId`.
  const users = new Map();
  const unlinked = new Map();
  const invalid = new Map();
  const sales = new Map();
  const refunds = new Map();
  const corrections = new Map();

  // #region recipe
  app.post("/webhooks/payments", express.raw({ type: "*/*" }), (req, res, next) => {
    handle(req).then((status) => res.sendStatus(status), next);
  });

  async function handle(req) {
    const event = await verified(req).catch(() => undefined);
    if (!event) return 400;
    const told = read(event);
    if (told?.type === "refund") refunds.set(told.paymentId, [...(refunds.get(told.paymentId) ?? []), told]);
    const sale = told?.payment ? told : told?.sale; // a refund may bring its sale
    return sale ? report(sale) : correct(told?.paymentId);
  }

  async function report(sale) {
    const { payment, currency, customerId, attribution } = sale;
    if (sales.has(payment.paymentId)) return correct(payment.paymentId);
    const user = users.get(customerId); // the gateway's id (cus_…), not yours
    const isUnlinked = customerId && !user && !attribution;
    if (isUnlinked) unlinked.set(payment.paymentId, sale);
    const [leadValue, notBefore] = [inEuros(payment.leadValue, currency), new Date(Date.now() + WINDOW_MS)];
    const paid = { ...payment, leadValue, notBefore, ...(user && { customerEmail: user.email }) };
    const ids = user?.affiliate?.clickId || user?.affiliate?.sessionId ? user.affiliate : attribution;
    const receipt = await tracker.trackPayment(paid, ids);
    if (receipt.reason === "invalid") invalid.set(payment.paymentId, sale);
    else if (tracker.stats().trouble || (receipt.reason && receipt.outcome !== "skipped")) return 500;
    else if (!isUnlinked) sales.set(payment.paymentId, { ...sale, receiptId: receipt.id });
    return correct(payment.paymentId);
  }

  async function correct(paymentId) {
    const [sale, all] = [sales.get(paymentId), refunds.get(paymentId)];
    if (!sale?.receiptId || !all) return 204;
    const back = refunded(sale.payment, all);
    const isWithdrawn =
      corrections.get(paymentId)?.isWithdrawn ||
      (back.isFull && (await tracker.cancelPayment(paymentId)) === "cancelled");
    corrections.set(paymentId, { ...sale, ...back, isWithdrawn });
    return 204;
  }
  // #endregion

  function inEuros(amount, currency) {
    return Math.round((amount / perEuro[currency]) * 100) / 100;
  }

  return { app, users, unlinked, invalid, sales, refunds, corrections, report };
}
