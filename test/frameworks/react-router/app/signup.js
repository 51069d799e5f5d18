export async function action({ request }) {
  const { email } = await request.json();
  if (!email) return Response.json({ error: "no address" }, { status: 400 });
  const { affiliateTracker: tracker } = globalThis;
  await tracker.trackRegistration({ email, customerId: email }, tracker.attributionOf(request));
  return Response.json({ email }, { status: 201 });
}
