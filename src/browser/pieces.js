// Pieces that both pages show.
import { html } from "./page.js";

/**
 * A text that a stranger chose. Whatever its script, it cannot turn the line around it: the characters that would do so even
 * from within an isolated element are written out, as `\u202e`.
 */
export function foreign(text, tag = "bdi") {
  const written = String(text).replace(/[\u202a-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16)}`;
  });
  return html`<${tag} class="foreign" dir="auto">${written}<//>`;
}

/** The time of day of an ISO 8601 timestamp; with its date where that is not today's. */
export function time(at) {
  const when = new Date(at);
  const isToday = when.toDateString() === new Date().toDateString();
  const text = when.toLocaleTimeString([], { hour12: false });
  const shown = isToday ? text : `${when.toLocaleDateString()} ${text}`;
  return html`<time datetime=${at} title=${at}>${shown}</time>`;
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** A length of time, in its largest unit. */
export function span(ms) {
  const [unit, length] = units.find(([, length]) => ms >= length) ?? ["ms", 1];
  return `${Math.floor(ms / length)} ${unit}`;
}

/** A decimal amount, as the reader writes it; one with more than 15 digits as a power of ten. */
export function amount(value) {
  return value < 1e15
    ? value.toLocaleString([], { minimumFractionDigits: 2, maximumFractionDigits: 6 })
    : value.toLocaleString([], { notation: "scientific", maximumFractionDigits: 3 });
}

/** `1 click`, `2 clicks`, `2 status queries`. */
export function countOf(number, noun) {
  return `${number.toLocaleString([])} ${number === 1 ? noun : `${noun}s`}`;
}
