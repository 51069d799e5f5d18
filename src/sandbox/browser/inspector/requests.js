// The raw requests, and the filter over them.
import { $, h, time } from "./dom.js";
import { nameOf } from "./service.js";

/** Each request keeps its element, so that what a reader has opened stays open. */
let requestElements = new Map();

export function showRequests(requests) {
  requestElements = new Map(
    requests.map((request) => [request.id, requestElements.get(request.id) ?? requestElement(request)]),
  );
  filterRequests();
}

export function filterRequests() {
  const search = $("search").value.toLowerCase();
  const answered = $("answered").value;
  const shown = [...requestElements.values()].filter(
    ({ dataset, textContent }) =>
      dataset.answered.startsWith(answered) && textContent.toLowerCase().includes(search),
  );
  const none = h("li", { className: "empty" }, requestElements.size > 0 ? "None like that." : "None yet.");
  $("requests").replaceChildren(...(shown.length > 0 ? shown : [none]));
}

function requestElement({ at, method, path, headers, body, status, response, ms, fault, replayed }) {
  const answered = status === null ? "no answer" : String(status);
  const summary = h(
    "summary",
    {},
    time(at),
    h("span", { className: "mono" }, method),
    h("span", { className: "mono path" }, path),
    h(
      "span",
      {},
      h("span", { className: "quiet" }, `${ms} ms`),
      fault === "ok" ? "" : h("span", { className: "tag" }, nameOf(fault)),
      replayed ? h("span", { className: "tag" }, "replayed") : "",
      h("span", { className: status < 300 && status ? "tag good" : "tag bad" }, answered),
    ),
  );
  const raw = [
    [
      "Headers",
      Object.entries(headers)
        .map((pair) => pair.join(": "))
        .join("\n"),
    ],
    ["Body", pretty(body)],
    ["Answer", pretty(response)],
  ].filter(([, text]) => text);
  const item = h(
    "li",
    {},
    h(
      "details",
      {},
      summary,
      h(
        "div",
        { className: "raw" },
        raw.flatMap(([title, text]) => [
          h("p", { className: "quiet" }, title),
          h("pre", { tabIndex: 0 }, text),
        ]),
      ),
    ),
  );
  item.dataset.answered = status === null ? "none" : answered;
  return item;
}

function pretty(text) {
  try {
    return text && JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
