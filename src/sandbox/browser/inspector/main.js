// The inspector's page.
import { html, startPage } from "../../../browser/page.js";
import { amount, copyButton, countOf, Frame, foreign, mark, time } from "../../../browser/pieces.js";
import { decisions } from "./decisions.js";
import { Faults } from "./faults.js";
import { first, look, more, post, search } from "./view.js";
import { Visitors } from "./visitors.js";

function Inspector(shown) {
  const { about, fault, affiliates, visitors, requests } = shown;
  const mode = fault?.mode ?? "ok";
  document.title = mode === "ok" ? "Affiliate sandbox" : `${mode} · Affiliate sandbox`;
  return html`
    <${Frame} title="Affiliate sandbox" head=${about && html`<${About} ...${about} />`} ...${shown}>
      <${Faults} ...${shown} />
      ${affiliates && html`<${Affiliates} ...${affiliates} />`}
      ${visitors && html`<${Visitors} ...${shown} />`}
      ${requests && html`<${Requests} ...${shown} />`}
      <section aria-labelledby="decisions-title">
        <h2 id="decisions-title">Where the specification is silent</h2>
        <details>
          <summary>What this sandbox decided; the real service may do otherwise</summary>
          <dl id="decisions">${Object.entries(decisions).map(([open, decision]) => html`<dt>${open}</dt><dd>${decision}</dd>`)}</dl>
        </details>
      </section>
    <//>
  `;
}

function About({ url, clientId, apiKey, file }) {
  return html`
    <details>
      <summary id="address"><code>${url}</code>, client ${clientId}</summary>
      <dl id="about">
        <div>
          <dt>API key</dt>
          <dd><code>${apiKey}</code>${" "}${copyButton(apiKey, "Copy the API key")}</dd>
        </div>
        <div><dt>Ledger</dt><dd>${file ? foreign(file, "code") : "in memory"}</dd></div>
        <div><dt>API description</dt><dd><a href="openapi.json">OpenAPI</a></dd></div>
      </dl>
      <p class="quiet">The tracking service on this machine. For development and tests, never production.</p>
    </details>
  `;
}

/** Who gets the credit: each affiliate's totals, and what was linked to none. */
function Affiliates(affiliates) {
  const tile = ({ name, value, ...counts }) => {
    const state = name === null ? "lost" : counts.registration + counts.payment > 0 && "linked";
    const happened = Object.entries(counts).filter(([, count]) => count > 0);
    return html`
      <li key=${`affiliate ${name}`}>
        <span class=${name === null && "lost"}>${state && mark(state)}${name === null ? "no affiliate" : foreign(name)}</span>
        <strong class=${value === 0 && "quiet"}>${amount(value)}</strong>
        <span class="quiet">${happened.map(([kind, count]) => countOf(count, kind)).join(", ")}</span>
      </li>
    `;
  };
  return html`
    <h2 class="unseen">Affiliates</h2>
    <ul id="affiliates" class="tiles">${affiliates.shown.map(tile)}</ul>
    ${more(affiliates)}
  `;
}

function Requests({ requests, view }) {
  return html`
    <section aria-labelledby="requests-title">
      <div class="head">
        <h2 id="requests-title">Requests <span class="quiet">${requests.total}</span></h2>
        ${search("containing", "Requests containing", "containing")}
        <button type="button" onClick=${clear}>Clear everything</button>
      </div>
      <ol id="requests">
        ${requests.total === 0 && html`<li class="quiet">${view.containing ? "None is like that." : "None yet."}</li>`}
        ${requests.shown.map(requestRow)}
      </ol>
      ${more(requests)}
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
      <a href=${`request?id=${id}`} target="request">
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

startPage(Inspector, first, look, 500);
