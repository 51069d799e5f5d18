import { randomUUID } from "node:crypto";
import { getTracker } from "../../../get-tracker.js";

const users = { create: async ({ email }) => ({ id: randomUUID(), email }) };

// #region handler
export async function POST(request) {
  const body = await request.json();
  if (!body.email) return Response.json({ error: "no address" }, { status: 400 });
  const user = await users.create(body);
  const tracker = getTracker();
  const registration = { email: user.email, customerId: user.id };
  await tracker.trackRegistration(registration, tracker.attributionOf(request));
  return Response.json(user, { status: 201 });
}
// #endregion
