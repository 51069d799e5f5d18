import { complete } from "../../actions.js";

export async function POST(request) {
  const { id, email } = await request.json();
  return Response.json(await complete(id, email), { status: 201 });
}
