import { json } from "@sveltejs/kit";

export async function POST({ request }) {
  const { email } = await request.json();
  if (!email) return json({ error: "no address" }, { status: 400 });
  const { affiliateTracker: tracker } = globalThis;
  await tracker.trackRegistration({ email, customerId: email }, tracker.attributionOf(request));
  return json({ email }, { status: 201 });
}
