import { getTracker } from "../../../get-tracker.mjs";

export async function POST(request) {
  const { id, email, total } = await request.json();
  const payment = { paymentId: id, customerEmail: email, leadValue: total };
  await getTracker().trackPayment(payment, getTracker().attributionOf(request));
  return Response.json({ id });
}
