// What the page asks of its server, with the token that shows that this page asks.
let token = "";

/** The reader may not see this. */
export class Forbidden extends Error {}

/** Throws if the server refuses or does not answer. */
export async function read(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  const document = await answerTo(path + search, {});
  if (document.token !== undefined) token = document.token;
  return document;
}

/** Throws the server's answer if it refuses. */
export function post(path, body) {
  const headers = { "content-type": "application/json", "x-affiliate-token": token };
  return answerTo(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function answerTo(path, request) {
  const answer = await fetch(path, request).catch(() => {
    throw new Error("The server does not answer.");
  });
  const isJson = answer.headers.get("content-type")?.startsWith("application/json");
  if (!isJson) {
    if (answer.status === 403 && request.method) throw new Error("You may look, and not act.");
    if (answer.status === 403 || answer.redirected) throw new Forbidden("You may no longer see this page.");
    throw new Error(`The server answered with status ${answer.status}.`);
  }
  const document = await answer.json();
  if (!answer.ok) throw new Error(document.message);
  return document;
}
