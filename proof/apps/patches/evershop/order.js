import { tracker } from "../../../../../tracker.mjs";

export default async (request, response, next) => {
  // #region order
  const { uuid, customer_email, grand_total } = response.$body.data;
  const payment = { paymentId: uuid, customerEmail: customer_email, leadValue: grand_total };
  await tracker.trackPayment(payment, tracker.attributionOf(request));
  // #endregion
  next();
};
