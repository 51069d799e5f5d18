// Pieces that both pages show.
import { html } from "./page.js";

export { span } from "./span.js";

const MARKS = {
  linked: "M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1zM4.2 8.2l2.7 2.7 5-5.4-1.1-1-3.9 4.2-1.6-1.6z",
  waiting:
    "M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1zm0 2a5 5 0 1 0 0 10A5 5 0 0 0 8 3zm-.8 1.8h1.6v2.9l2 1.4-.9 1.3-2.7-1.9z",
  held: "M8 .4 15.6 8 8 15.6.4 8zM5.8 5v6h1.4V5zM8.8 5v6h1.4V5z",
  lost: "M3.4 2 8 6.6 12.6 2 14 3.4 9.4 8l4.6 4.6-1.4 1.4L8 9.4 3.4 14 2 12.6 6.6 8 2 3.4z",
};

/**
 * A state's mark, beside its words. `linked`: it arrived. `waiting`: it is sent later. `held`: it
 * may have arrived. `lost`: it did not, or counts for no one.
 */
export function mark(state) {
  return html`<svg class=${`mark ${state}`} viewBox="0 0 16 16" aria-hidden="true"><path fill-rule="evenodd" d=${MARKS[state]} /></svg>`;
}

/**
 * A text that a stranger chose. It cannot turn the line around it, and what cannot be seen in it is
 * written out.
 */
export function foreign(text, tag = "bdi") {
  return html`<${tag} class="foreign" dir="auto">${written(String(text))}<//>`;
}

/**
 * Writes characters that cannot be seen, look like a space or turn the text around them as
 * `\u202e`: two names that differ do not look alike.
 */
export function written(text) {
  const unseen = /(?:[^\P{C}\n\t]|[\p{DI}\u2800]|(?! )\p{Z})\p{M}*|\\(?=u)/gu;
  const isComposed = text === text.normalize("NFC");
  return text.replace(isComposed ? unseen : /[^\x20-\x7e\n\t]|\\(?=u)/gu, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** With `hour12: false`, five past midnight is 24:05 in American English. */
export function timeOfDay(when, timeStyle = "medium") {
  return when.toLocaleTimeString([], { timeStyle, hourCycle: "h23" });
}

/** The time of day of an ISO 8601 timestamp; with its date if that is not today's. */
export function time(at) {
  const when = new Date(at);
  const isToday = when.toDateString() === new Date().toDateString();
  const text = timeOfDay(when);
  const shown = isToday ? text : `${when.toLocaleDateString()} ${text}`;
  return html`<time datetime=${at} title=${at}>${shown}</time>`;
}

/** A decimal amount, as the reader writes it; a power of ten if it has more than 15 digits. */
export function amount(value) {
  return value < 1e15
    ? value.toLocaleString([], { minimumFractionDigits: 2, maximumFractionDigits: 6 })
    : value.toLocaleString([], { notation: "scientific", maximumFractionDigits: 3 });
}

/** `1 click`, `2 clicks`, `2 status queries`. */
export function countOf(number, noun) {
  return `${number.toLocaleString([])} ${number === 1 ? noun : `${noun}s`}`;
}

/** A page's head and its parts, whose buttons are off while the server does not answer. */
export function Frame({ title, head, connection, why, liveAt, children }) {
  const isStopped = connection === "stopped";
  const since = isStopped && html` ${why} Nothing new since ${liveAt ? time(liveAt) : "the start"}.`;
  return html`
    <header>
      <h1>${title}</h1>
      ${head}
      <p id="connection" data-connection=${connection} role="status">${connection}${since && "."}${since}</p>
    </header>
    <main><fieldset disabled=${isStopped}>${children}</fieldset></main>
  `;
}

/** `columns`: the headings; the first is of the rows' names. */
export function Table({ columns, children, ...table }) {
  return html`
    <table ...${table}>
      <thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
      <tbody>${children}</tbody>
    </table>
  `;
}
