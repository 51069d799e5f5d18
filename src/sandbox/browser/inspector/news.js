// For those who listen: what is new since the last time.
import { html } from "../../../browser/page.js";
import { foreign } from "../../../browser/pieces.js";

const MOST = 5;
let lastRead;

/** The entries that came since this was called last, each with its visitor. */
export function newsIn({ unlinked, visitors }) {
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
