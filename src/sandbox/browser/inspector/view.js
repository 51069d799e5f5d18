// What the page asks of the sandbox.
import { ask, change, html, refresh, shown } from "../../../browser/page.js";

/** `limit`: how many visitors and requests are asked for. */
export const first = { limit: 100, problem: "" };

export const look = () => ask(`state?limit=${shown.limit}`);

function showMore() {
  change({ limit: shown.limit + 100 });
  refresh();
}

/** If not all is shown: "100 of 601", and a button for more of it. */
export function more({ shown: { length }, total }) {
  if (length === total) return null;
  return html`
    <p class="more">
      ${length.toLocaleString([])} of ${total.toLocaleString([])}${" "}
      <button type="button" onClick=${showMore}>Show more</button>
    </p>
  `;
}

/** Tells the sandbox something, and shows why it refuses. */
export async function post(path, body) {
  change({ problem: "" });
  const headers = { "content-type": "application/json" };
  await ask(path, { method: "POST", headers, body: JSON.stringify(body) }).catch(({ message }) => {
    change({ problem: message });
  });
}
