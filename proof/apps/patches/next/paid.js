import { headers } from "next/headers";
import { getTracker } from "../../../get-tracker.mjs";

export async function POST(request) {
  const { id, email, total } = await request.json();
  const payment = { paymentId: id, customerEmail: email, leadValue: total };
  // As a server action does, which has no request.
  await getTracker().trackPayment(payment, getTracker().attributionOf(await headers()));
  return Response.json({ id });
}
