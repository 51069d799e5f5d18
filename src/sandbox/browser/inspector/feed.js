// The connection to the sandbox: what it tells the page, and what the page asks of it.
import { change, html, shown } from "../../../browser/page.js";
import { foreign } from "../../../browser/pieces.js";

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
  source.addEventListener("about", ({ data }) => change(JSON.parse(data)));
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

// For those who listen: what is new since the last time.
const MOST = 5;
let lastRead;

/** The entries that came since this was called last, each with its visitor. */
function newsIn({ unlinked, visitors }) {
  const entries = [...unlinked.shown, ...visitors.shown].flatMap((visitor) =>
    [visitor.clicks, visitor.registrations, visitor.payments]
      .flatMap(({ shown }) => shown)
      .map((entry) => ({ ...entry, visitor })),
  );
  const news = lastRead === undefined ? [] : entries.filter(({ at }) => at > lastRead);
  lastRead = [lastRead ?? "", ...entries.map(({ at }) => at)].sort().at(-1);
  return news.slice(-MOST);
}

export function News({ news }) {
  // Each with a key of its own: a line that is like the last one is read out too.
  const line = ({ id, kind, visitor, affiliateReference }) => html`
    <p key=${`${kind} ${id}`}>${kind} of ${foreign(visitor.name)}: ${foreign(affiliateReference ?? "not linked")}</p>
  `;
  return html`<div id="news" class="unseen" role="log" aria-label="News">${news.map(line)}</div>`;
}
