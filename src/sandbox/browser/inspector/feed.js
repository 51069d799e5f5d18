// The connection to the sandbox: what it tells the page, and what the page asks of it.
import { change, html, shown } from "../../../browser/page.js";
import { newsIn } from "./news.js";

/** How much of each list is asked for; the rest is the sandbox's own choice. */
const counts = new Map();
let source;
/** The button that had the focus before the buttons were disabled, which takes the focus away. */
let focused;

export function connect() {
  source?.close();
  const { filters } = shown;
  const view = new URLSearchParams(counts.entries());
  for (const [name, value] of Object.entries(filters)) if (value !== "") view.set(name, value);
  source = new EventSource(`events?${view}`);
  source.addEventListener("about", ({ data }) => change({ ...JSON.parse(data), isKeyCopied: false }));
  source.addEventListener("message", ({ data }) => {
    const state = JSON.parse(data);
    const news = newsIn(state);
    change({ state, asked: filters, connection: "live", news: news.length > 0 ? news : shown.news });
    if (document.activeElement === document.body) focused?.focus();
    focused = undefined;
  });
  source.addEventListener("error", () => {
    if (shown.connection === "stopped") return;
    focused = document.activeElement;
    change({ connection: "stopped", stoppedAt: new Date().toISOString() });
  });
}

export function filterBy(filter) {
  change({ filters: { ...shown.filters, ...filter } });
  connect();
}

/** Narrows a list to what contains a text. */
export function Search({ id, label, placeholder, shortcut, filter }) {
  return html`
    <input
      ...${{ id, type: "search", placeholder, autocomplete: "off", spellcheck: false, value: filter[id] }}
      aria-label=${label}
      aria-keyshortcuts=${shortcut}
      onInput=${({ target }) => filterBy({ [id]: target.value })}
    />
  `;
}

/** If not all is shown: "100 of 601", and a button for more of it. */
export function more(list, { shown: { length }, total }) {
  if (length === total) return null;
  const showMore = () => {
    counts.set(list, length + 100);
    connect();
  };
  return html`
    <span>${length.toLocaleString([])} of ${total.toLocaleString([])} </span>
    <button type="button" onClick=${showMore}>Show more</button>
  `;
}

/** Tells the sandbox something, and shows why it refuses. */
export async function post(path, body) {
  change({ problem: "" });
  const headers = { "content-type": "application/json" };
  try {
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => {
      throw new Error("The sandbox does not answer.");
    });
    if (!answer.ok) throw new Error((await answer.json()).message);
  } catch (error) {
    change({ problem: error.message });
  }
}
