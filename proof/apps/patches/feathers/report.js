import { tracker } from "./tracker.js";

export async function reportSignUp({ result: user, params }) {
  const registration = { email: user.email, customerId: user.id };
  await tracker.trackRegistration(registration, tracker.attributionOf(params));
}

export async function reportOrder({ result: order, params }) {
  if (order.text !== "paid") return;
  const payment = { paymentId: order.id, customerEmail: params.user.email, leadValue: 19.9 };
  await tracker.trackPayment(payment, tracker.attributionOf(params));
}
