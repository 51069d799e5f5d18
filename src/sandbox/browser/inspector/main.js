// The inspector's page.
import { html, startPage } from "../../../browser/page.js";
import { time } from "../../../browser/pieces.js";
import { Affiliates, Linking } from "./affiliates.js";
import { look } from "./feed.js";
import { OpenedRequest, openNamed, Requests } from "./requests.js";
import { About, Decisions, FaultBar, showFaults } from "./service.js";
import { Visitors } from "./visitors.js";

const noFilters = { search: "", containing: "" };

function Inspector(shown) {
  const { connection, state, asked, filters, problem, areFaultsOpen } = shown;
  const isStopped = connection === "stopped";
  const mode = state?.fault.mode ?? "ok";
  document.title = mode === "ok" ? "Affiliate sandbox" : `${mode} · Affiliate sandbox`;
  return html`
    <header>
      <h1>Affiliate sandbox</h1>
      <details>
        <summary><span id="address">${address(shown)}</span></summary>
        <${About} about=${shown.about} />
        <p class="quiet">The tracking service on this machine. For development and tests, never production.</p>
      </details>
      <p id="connection" data-connection=${connection} role="status">${connectionIn(shown)}</p>
      <button type="button" id="faults" aria-expanded=${areFaultsOpen} onClick=${() => showFaults(!areFaultsOpen)}>Faults</button>
    </header>
    <main>
      <div id="summary">
        <${FaultBar} ...${{ state, isStopped, problem, areFaultsOpen }} />
        <div role="status"><${Linking} affiliates=${state?.affiliates} /></div>
      </div>
      <${Affiliates} affiliates=${state?.affiliates} />
      <${Visitors} ...${{ state, asked, filters, isStopped }} />
      <${Requests} ...${{ state, asked, filters, isStopped }} />
      <${Decisions} />
    </main>
    <${OpenedRequest} opened=${shown.opened} />
  `;
}

function address({ about }) {
  return about ? html`<code>${about.url}</code>, client ${about.clientId}` : "address and key";
}

function connectionIn({ connection, stoppedAt }) {
  return connection === "stopped" ? html`No connection to the sandbox since ${time(stoppedAt)}` : connection;
}

startPage(Inspector, {
  connection: "connecting",
  filters: noFilters,
  asked: noFilters,
  problem: "",
  areFaultsOpen: false,
  opened: { title: "Request" },
});
look();
addEventListener("hashchange", openNamed);
openNamed();
