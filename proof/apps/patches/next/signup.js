import { getTracker } from "../../../get-tracker.mjs";

export async function POST(request) {
  const { email } = await request.json();
  await getTracker().trackRegistration({ email }, getTracker().attributionOf(request));
  return Response.json({ email }, { status: 201 });
}
