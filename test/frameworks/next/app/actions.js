"use server";

import { headers } from "next/headers";
import { getTracker } from "../get-tracker.js";

export async function complete(id, email) {
  const tracker = getTracker();
  const order = { id, email, total: 19.9 };
  const payment = { paymentId: order.id, customerEmail: order.email, leadValue: order.total };
  await tracker.trackPayment(payment, tracker.attributionOf(await headers()));
  return order;
}
