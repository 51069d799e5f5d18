// The connection to the sandbox: what it tells the page, and what the page asks of it.
import { change, html, shown } from "../../../browser/page.js";
import { newsIn } from "./news.js";

/** How much of each list is asked for; the rest is the sandbox's own choice. */
const counts = new Map();
let source;
/** Where the focus was when the buttons went off, which takes it away. */
let focused;

/** Asks for the state as the filters say. */
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

/** For a field of the filters: asks for what is in it. */
export function filterBy({ target: { id, value } }) {
  change({ filters: { ...shown.filters, [id]: value } });
  connect();
}

/** "100 of 601", where not all is shown, and a button for more of it. */
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
