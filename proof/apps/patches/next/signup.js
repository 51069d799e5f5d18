import { getTracker } from "../../../get-tracker.mjs";

export async function POST(request) {
  const { email } = await request.json(); // yours: checks it, and makes the user
  await getTracker().trackRegistration({ email }, getTracker().attributionOf(request));
  return Response.json({ email }, { status: 201 });
}
