// What the page asks of the sandbox.
import { ask, change, html, refresh, shown } from "../../../browser/page.js";

/** `view`: which visitors and requests are asked for, and how many. `version`: what was answered last. */
export const first = { view: { search: "", containing: "", limit: 100 }, version: 0, problem: "" };

export async function look() {
  const { view, version } = shown;
  const news = await ask(`state?${new URLSearchParams({ ...view, version })}`);
  // The answer to a later question may have come first.
  return view === shown.view ? news : {};
}

function choose(choice) {
  change({ view: { ...shown.view, ...choice }, version: 0 });
  refresh();
}

/** Narrows a list to what contains a text. */
export function search(id, label, placeholder) {
  return html`
    <input
      ...${{ id, type: "search", placeholder, autocomplete: "off", spellcheck: false, value: shown.view[id] }}
      aria-label=${label}
      onInput=${({ target }) => choose({ [id]: target.value })}
    />
  `;
}

/** If not all is shown: "100 of 601", and a button for more of it. */
export function more({ shown: { length }, total }) {
  if (length === total) return null;
  return html`
    <p class="more">
      ${length.toLocaleString([])} of ${total.toLocaleString([])}${" "}
      <button type="button" onClick=${() => choose({ limit: shown.view.limit + 100 })}>Show more</button>
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
