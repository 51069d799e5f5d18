// All that the page shows came from strangers, so it builds elements and sets texts, and never parses HTML.

/** The element with that id. */
export const $ = (id) => document.getElementById(id);

/** An element with its properties and children; texts are texts. */
export function h(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** The time of day of an ISO 8601 timestamp. */
export function time(at) {
  return h("time", { dateTime: at, title: at }, new Date(at).toLocaleTimeString([], { hour12: false }));
}

/** A decimal amount, as the reader writes it. */
export const amount = (value) =>
  value.toLocaleString([], { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** Tells the sandbox something. */
export async function post(path, body) {
  await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
