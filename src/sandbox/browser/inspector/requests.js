// The list of requests, and one of them in full.
import { $, change, html } from "../../../browser/page.js";
import { foreign, mark, time, written } from "../../../browser/pieces.js";
import { more, post, Search } from "./feed.js";

export function Requests({ state, asked, filters, isStopped }) {
  const requests = state?.requests;
  return html`
    <section aria-labelledby="requests-title">
      <div class="head">
        <h2 id="requests-title">Requests <span class="quiet">${requests?.total}</span></h2>
        <${Search} id="containing" label="Requests containing" placeholder="containing" ...${{ filters, isStopped }} />
        <button id="clear" type="button" disabled=${isStopped} onClick=${clear}>Clear everything</button>
      </div>
      <ol id="requests">
        ${requests?.total === 0 && html`<li class="quiet">${asked.containing ? "None is like that." : "None yet."}</li>`}
        ${requests?.shown.map(requestRow)}
      </ol>
      <p class="more">${requests && more("requests", requests)}</p>
    </section>
  `;
}

function clear() {
  if (confirm("Forget all clicks, registrations, payments and requests?")) post("clear", {});
}

function requestRow({ id, at, method, path, status, ms, fault, replayed }) {
  const state = stateAfter(status);
  return html`
    <li key=${id}>
      <a href=${`#request-${id}`}>
        ${time(at)}
        <code>${method} ${foreign(path)}</code>
        <span>
          ${fault !== "ok" && fault !== String(status) && `${fault}, `}
          ${replayed && "replayed, "}
          <strong class=${state}>${state && mark(state)}${status ?? "no answer"}</strong>
          ${` ${ms} ms`}
        </span>
      </a>
    </li>
  `;
}

/** What the app does: sends the event again, cannot know if it has arrived, or gives it up. */
function stateAfter(status) {
  if (status === null) return "held";
  if (status >= 500 || status === 429 || status === 401) return "waiting";
  return status >= 400 ? "lost" : "";
}

/** Opens the request that the address names, as `#request-7` does. */
export async function openNamed() {
  const id = /^#request-(\d+)$/.exec(location.hash)?.[1];
  if (id === undefined) return $("request").close();
  const answer = await fetch(`request?id=${id}`).catch(() => undefined);
  const body = await answer?.json();
  if (location.hash !== `#request-${id}`) return;
  const what = answer?.ok ? { request: body } : { problem: body?.message ?? "The sandbox does not answer." };
  change({ opened: { id, title: `Request ${id}`, ...what } });
  if (!$("request").open) $("request").showModal();
}

export function OpenedRequest({ opened: { id, title, request, problem } }) {
  return html`
    <dialog id="request" aria-labelledby="request-title" onClose=${() => forgetName(id)}>
      <form method="dialog"><h2 id="request-title">${title}</h2><button type="submit">Close</button></form>
      ${request && html`<${WholeRequest} ...${request} />`}
      ${problem && html`<p>${problem}</p>`}
    </dialog>
  `;
}

/** `close` comes some time after the dialog closed: the address may name another request. */
function forgetName(id) {
  if (location.hash === `#request-${id}`) history.pushState(null, "", " ");
}

function WholeRequest({ at, method, path, headers, body, status, response, ms, fault, replayed }) {
  const lines = Object.entries(headers).map((pair) => pair.join(": "));
  const texts = { Headers: lines.join("\n"), Body: pretty(body), Answer: pretty(response) };
  return html`
    <p><code>${method} ${foreign(path)}</code></p>
    <p class="quiet">
      ${time(at)}, answered ${status ?? "not at all"} in ${ms} ms
      ${fault !== "ok" && `, fault: ${fault}`}
      ${replayed && ", an earlier answer to its Idempotency-Key"}
    </p>
    ${Object.entries(texts).map(([title, text]) => text && html`<h3>${title}</h3><pre tabindex="0">${written(text)}</pre>`)}
  `;
}

function pretty(text) {
  try {
    return text && JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
