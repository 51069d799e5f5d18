// What every part of the page needs.
import { h } from "./elements.js";

export { $, amount, countOf, foreign, h, span, time } from "./elements.js";

/** "100 of 601", where not all is shown, and a button for more of it. */
export function more(list, { shown, total }) {
  if (shown.length === total) return [];
  const numbers = [shown.length, total].map((number) => number.toLocaleString([]));
  return [
    h("span", {}, numbers.join(" of "), " "),
    h("button", { type: "button", "data-more": list, "data-shown": shown.length }, "Show more"),
  ];
}

/** Tells the sandbox something. Throws with what it answered where it refuses, and where it does not answer. */
export async function post(path, body) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => {
    throw new Error("The sandbox does not answer.");
  });
  if (!answer.ok) throw new Error((await answer.json()).message);
}
