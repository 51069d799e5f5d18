export async function action({ request }) {
  const { id, email } = await request.json();
  const { affiliateTracker: tracker } = globalThis;
  const payment = { paymentId: id, customerEmail: email, leadValue: 19.9 };
  await tracker.trackPayment(payment, tracker.attributionOf(request));
  return Response.json({ id });
}
