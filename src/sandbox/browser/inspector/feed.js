// The connection to the sandbox: what it tells the page, and what the page asks of it.
import { change, html, shown } from "../../../browser/page.js";

const EVERY_MS = 500;
/** How much of each list is asked for; the rest is the sandbox's own choice. */
const counts = new Map();
let current;
/** The button that had the focus before the buttons were disabled, which takes the focus away. */
let focused;

/** Asks for the state again and again, until it is called for another view. */
export async function look() {
  const { filters } = shown;
  const view = new URLSearchParams({ ...Object.fromEntries(counts), ...filters });
  current = view;
  while (current === view) {
    const answer = await ask(view).catch(() => undefined);
    if (current !== view) return;
    if (answer?.state) {
      view.set("version", answer.version);
      change({ ...answer, asked: filters, connection: "live" });
      if (document.activeElement === document.body) focused?.focus();
      focused = undefined;
    } else if (!answer && shown.connection !== "stopped") {
      view.delete("version");
      focused = document.activeElement;
      change({ connection: "stopped", stoppedAt: new Date().toISOString() });
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

async function ask(view) {
  const answer = await fetch(`state?${view}`);
  return answer.status === 204 ? {} : answer.json();
}

function filterBy(filter) {
  change({ filters: { ...shown.filters, ...filter } });
  look();
}

/** Narrows a list to what contains a text. */
export function Search({ id, label, placeholder, filters, isStopped }) {
  return html`
    <input
      ...${{ id, type: "search", placeholder, autocomplete: "off", spellcheck: false, value: filters[id] }}
      aria-label=${label}
      disabled=${isStopped}
      onInput=${({ target }) => filterBy({ [id]: target.value })}
    />
  `;
}

/** If not all is shown: "100 of 601", and a button for more of it. */
export function more(list, { shown: { length }, total }) {
  if (length === total) return null;
  const showMore = () => {
    counts.set(list, length + 100);
    look();
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
