// The list of requests, and one of them in full.
import { $, foreign, h, more, time } from "./dom.js";
import { patch } from "./patch.js";

export function showRequests({ requests }, isFiltered) {
  const none = h(
    "li",
    { class: "quiet", "data-key": "empty" },
    isFiltered ? "None is like that." : "None yet.",
  );
  patch($("requests"), requests.total > 0 ? requests.shown.map(requestRow) : none);
  patch($("requests-count"), String(requests.total));
  patch($("requests-more"), more("requests", requests));
}

function requestRow({ id, at, method, path, status, ms, fault, replayed }) {
  return h(
    "li",
    { "data-key": `request-${id}` },
    h(
      "a",
      { href: `#request-${id}` },
      time(at),
      h("code", {}, method, " ", foreign(path)),
      h(
        "span",
        {},
        fault !== "ok" && fault !== String(status) && `${fault}, `,
        replayed && "replayed, ",
        h("strong", { class: status >= 200 && status < 300 ? "" : "attention" }, status ?? "no answer"),
        ` ${ms} ms`,
      ),
    ),
  );
}

/** Opens the request that the address names, as `#request-7` does. */
export async function openNamed() {
  const id = /^#request-(\d+)$/.exec(location.hash)?.[1];
  if (id === undefined) return $("request").close();
  const answer = await fetch(`request?id=${id}`).catch(() => undefined);
  const body = await answer?.json();
  if (location.hash !== `#request-${id}`) return;
  $("request-title").textContent = `Request ${id}`;
  patch($("request-body"), answer?.ok ? requestParts(body) : h("p", {}, problem(body)));
  if (!$("request").open) $("request").showModal();
}

function problem(body) {
  return body?.message ?? "The sandbox does not answer.";
}

function requestParts({ at, method, path, headers, body, status, response, ms, fault, replayed }) {
  const lines = Object.entries(headers).map((pair) => pair.join(": "));
  const texts = { Headers: lines.join("\n"), Body: pretty(body), Answer: pretty(response) };
  return [
    h("p", {}, h("code", {}, method, " ", foreign(path))),
    h(
      "p",
      { class: "quiet" },
      time(at),
      `, answered ${status ?? "not at all"} in ${ms} ms`,
      fault !== "ok" && `, fault: ${fault}`,
      replayed && ", an earlier answer to its Idempotency-Key",
    ),
    Object.entries(texts)
      .filter(([, text]) => text)
      .map(([title, text]) => [h("h3", {}, title), h("pre", { tabindex: "0" }, text)]),
  ];
}

function pretty(text) {
  try {
    return text && JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
