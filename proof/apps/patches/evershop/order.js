import { tracker } from "../../../../../tracker.mjs";

export default async (request, response, next) => {
  const { uuid, customer_email, grand_total } = response.$body.data;
  const payment = { paymentId: uuid, customerEmail: customer_email, leadValue: grand_total };
  await tracker.trackPayment(payment, tracker.attributionOf(request));
  next();
};
