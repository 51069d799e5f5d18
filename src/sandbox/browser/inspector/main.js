import { html, startPage } from "../../../browser/page.js";
import { Frame, foreign, mark, time } from "../../../browser/pieces.js";
import { decisions } from "./decisions.js";
import { Faults } from "./faults.js";
import { first, look, more, post } from "./view.js";
import { Visitors } from "./visitors.js";

function Inspector(shown) {
  const { about, fault, visitors, requests } = shown;
  const mode = fault?.mode ?? "ok";
  document.title = mode === "ok" ? "Affiliate sandbox" : `${mode} · Affiliate sandbox`;
  return html`
    <${Frame} title="Affiliate sandbox" head=${about && html`<${About} ...${about} />`} ...${shown}>
      <${Faults} ...${shown} />
      ${visitors && html`<${Visitors} ...${shown} />`}
      ${requests && html`<${Requests} ...${requests} />`}
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
        <div><dt>API key</dt><dd><code>${apiKey}</code></dd></div>
        <div><dt>Ledger</dt><dd>${file ? foreign(file, "code") : "in memory"}</dd></div>
        <div><dt>API description</dt><dd><a href="openapi.json">OpenAPI</a></dd></div>
      </dl>
      <p class="quiet">The tracking service on this machine. For development and tests, never production.</p>
    </details>
  `;
}

function Requests(requests) {
  return html`
    <section aria-labelledby="requests-title">
      <div class="head">
        <h2 id="requests-title">Requests <span class="quiet">${requests.total}</span></h2>
        <button type="button" onClick=${clear}>Clear everything</button>
      </div>
      <ol id="requests">
        ${requests.total === 0 && html`<li class="quiet">None yet.</li>`}
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
