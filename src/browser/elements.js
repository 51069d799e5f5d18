// For pages that show what strangers sent: these build elements and set texts, and never parse HTML.
import { patch } from "./patch.js";

/** The element with that id. */
export const $ = (id) => document.getElementById(id);

/** An element with these attributes and children; texts are texts. `false` and `null` leave an attribute out. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  patch(element, children);
  return element;
}

/**
 * A text that a stranger chose. Whatever its script, it cannot turn the line around it: the characters that would do so even
 * from within an isolated element are written out, as `\u202e`.
 */
export function foreign(text, tag = "bdi") {
  const written = String(text).replace(/[\u202a-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16)}`;
  });
  return h(tag, { class: "foreign", dir: "auto" }, written);
}

/** The time of day of an ISO 8601 timestamp; with its date where that is not today's. */
export function time(at) {
  const when = new Date(at);
  const isToday = when.toDateString() === new Date().toDateString();
  const text = when.toLocaleTimeString([], { hour12: false });
  return h("time", { datetime: at, title: at }, isToday ? text : `${when.toLocaleDateString()} ${text}`);
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
