// The dead letters as the reader has chosen them, and what the reader does to them.
import { $, ask, change, html, refresh, shown } from "../../browser/page.js";
import { amount, countOf, foreign, mark, time, written } from "../../browser/pieces.js";

/**
 * `filter`: which dead letters are asked for. `done`, `problem`: what became of the last action. `read`:
 * how many there were when they were read; "" if they are to be read again.
 */
export const first = { filter: { kind: "", reason: "" }, done: "", problem: "", read: "" };

export function addressOf(path, query) {
  return `${path}?${new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""))}`;
}

/** `list`: letters, their sum, and the filter that they were read with; `undefined` before the first. */
export function DeadLetters({ list, filter, unreadable, problem, done }) {
  const { letters, count, filter: chosen = filter } = list ?? {};
  const { kind, reason } = chosen;
  const all = `all ${reason} ${kind ? `${kind}s` : reason && "events"}`.trim().replace("  ", " ");
  return html`
    <section aria-labelledby="letters-title">
      <div class="head">
        <h2 id="letters-title" tabindex="-1">Dead letters <span class="quiet">not sent again unless you say so</span></h2>
        ${choice("kind", "Kind", "any kind", ["payment", "registration", "click"])}
        ${choice("reason", "Reason", "any reason", ["unconfirmed", "rejected", "expired"])}
        ${count > 0 && html`<button type="button" onClick=${() => retryAll(list)}>Retry ${all}${reason === "unconfirmed" && "…"}</button>`}
        ${count > 0 && html`<button type="button" onClick=${() => discardAll(list)}>Discard ${all}…</button>`}
      </div>
      <div id="problem" role="alert" class="lost">${problem}</div>
      <p id="done" role="status">${done}</p>
      <ol id="letters">
        ${count === 0 && html`<li class="quiet">${kind || reason ? "None is like that." : "None."}</li>`}
        ${letters?.map((letter) => html`<${Letter} key=${letter.id} letter=${letter} />`)}
      </ol>
      <p class="more">
        ${unreadable && html`<span class="lost">${unreadable}</span>`}
        ${!unreadable && letters?.length < count && `The oldest ${letters.length} of ${count.toLocaleString([])}.`}
      </p>
    </section>
  `;
}

/** Narrows the list: one of `options`, or `all`. */
function choice(id, label, all, options) {
  const { filter } = shown;
  return html`
    <select id=${id} aria-label=${label} value=${filter[id]} onInput=${({ target }) => choose({ [id]: target.value })}>
      ${["", ...options].map((value) => html`<option key=${value} value=${value}>${value || all}</option>`)}
    </select>
  `;
}

export function choose(filter) {
  change({ filter: { ...shown.filter, ...filter }, read: "" });
  return refresh();
}

function Letter({ letter }) {
  const { id, kind, reason, attempts, status, code, message, createdAt, diedAt, unreadable } = letter;
  const answer = [[status, code].filter(Boolean).join(" "), message].filter(Boolean).join(", ");
  const isHeld = reason === "unconfirmed";
  const state = isHeld ? "held" : "lost";
  const button = (action, label) => html`
    <button type="button" key=${label} aria-describedby=${`what-${id}`} onClick=${() => action(letter)}>${label}</button>
  `;
  return html`
    <li class="letter">
      <div id=${`what-${id}`}>
        <p><strong>${kind}</strong> ${idOf(letter) !== undefined && foreign(idOf(letter), "code")}</p>
        <p>
          ${unreadable && html`<span class="lost">what is stored of it cannot be read: it can be discarded</span>`}
          ${letter.amount !== undefined && html`<strong>${amount(letter.amount)}</strong> of `}
          ${letter.email !== undefined && foreign(letter.email)}
          ${letter.affiliate !== undefined && html`through ${foreign(letter.affiliate)}`}
        </p>
      </div>
      <div>
        <p><strong class=${state}>${mark(state)}${reason}</strong>${answer && ": "}${foreign(answer)}</p>
        <p class="quiet">
          happened ${time(createdAt)}, ${isHeld ? "held" : "given up"} ${time(diedAt)} after ${countOf(attempts, "attempt")}
        </p>
      </div>
      <div class="actions">
        ${!unreadable && button(retry, isHeld ? "Retry…" : "Retry")}
        ${button(discard, "Discard…")}
      </div>
    </li>
  `;
}

/** What the host calls it; a click has only its own id. */
const idOf = ({ paymentId, customerId, clickId }) => paymentId ?? customerId ?? clickId;

function nameOf(letter) {
  const ofAmount = letter.amount === undefined ? "" : ` of ${amount(letter.amount)}`;
  return `${letter.kind} ${written(String(idOf(letter) ?? ""))}${ofAmount}`;
}

function retry(letter) {
  const isHeld = letter.reason === "unconfirmed";
  const question =
    isHeld &&
    `Send ${nameOf(letter)} again?

It was sent, and no answer came: the service may have it. Sent again, it may count twice, and be paid out twice.

Look in the service’s own dashboard first, for ${letter.email ?? "it"} between ${timeIn(letter.createdAt)} and ${timeIn(letter.diedAt)}. Your own records have the full address. If it is there, cancel, and discard it here.`;
  const query = { id: letter.id, ...(isHeld && { unconfirmed: true }) };
  return act("retry", query, () => "It is queued again.", question);
}

const timeIn = (at) => new Date(at).toLocaleString([], { hourCycle: "h23" });

function discard(letter) {
  const says = () => "It is discarded. Reported again, it is still a duplicate.";
  const question = `Discard ${nameOf(letter)}? The service is never told of it, and it cannot be brought back.`;
  return act("discard", { id: letter.id }, says, question);
}

function retryAll({ filter, count, unconfirmed, ...sum }) {
  const left = filter.reason === "" && unconfirmed > 0;
  const says = (count) =>
    `${countOf(count, "event")} queued again.${left ? ` ${unconfirmed} unconfirmed stay: choose that reason to decide.` : ""}`;
  const question =
    filter.reason === "unconfirmed" &&
    `Send ${countOf(count, "event")} again that the service may have?${sumOf(sum)}

Each was sent, and no answer came. Those that arrived count twice when they are sent again. Look each of them up in the service’s own dashboard first.`;
  return act("retry", { ...filter, count }, says, question);
}

function discardAll({ filter, count, ...sum }) {
  const says = (count) => `${countOf(count, "dead letter")} discarded.`;
  const question = `Discard ${countOf(count, "dead letter")}?${sumOf(sum)} The service is never told of them, and they cannot be brought back.`;
  return act("discard", { ...filter, count }, says, question);
}

const sumOf = ({ payments, amount: value }) =>
  payments > 0 ? ` ${countOf(payments, "payment")} of ${amount(value)} in all.` : "";

/** Asks the reader the question if there is one, acts, shows what came of it, and keeps the focus near its place. */
async function act(action, query, says, question) {
  if (question && !confirm(question)) return;
  const place = shown.list.letters.findIndex(({ id }) => id === query.id);
  change({ problem: "", done: "" });
  try {
    const { count } = await ask(addressOf(action, query), { method: "POST" });
    change({ done: says(count), read: "" });
  } catch ({ message }) {
    change({ problem: message, read: "" });
  }
  await refresh();
  if (document.activeElement !== document.body) return;
  const rows = [...$("letters").querySelectorAll(".letter")];
  (rows[Math.min(place, rows.length - 1)]?.querySelector("button") ?? $("letters-title")).focus();
}
