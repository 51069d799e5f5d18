// How delivery is: the numbers of the outbox, and of the process that the reader looks at.
import { html } from "../../browser/page.js";
import { countOf, foreign, span, time } from "../../browser/pieces.js";
import { choose } from "./look.js";

const KINDS = ["payment", "registration", "click"];

const PAUSES = {
  failing: "it fails",
  silent: "it does not answer",
  throttled: "it asks for a pause",
  unauthorized: "it refuses the API key",
  misconfigured: "the address may be wrong",
  unreachable: "it cannot be reached",
};

export function pausedOf({ endpoints }) {
  return endpoints.filter(({ state }) => state === "paused");
}

export function Summary({ outbox: { dead, trouble }, process }) {
  const paused = pausedOf(process);
  const isAll = paused.length === process.endpoints.length;
  const where = isAll ? "the service" : paused.map(({ endpoint }) => endpoint).join(", ");
  const givenUp = dead.rejected + dead.expired;
  const link = (reason, text) =>
    html`<a href="#letters-title" onClick=${() => choose({ kind: "", reason })}>${text}</a>`;
  const says = [
    trouble && html`The outbox’s storage fails: ${foreign(trouble)}. Events wait in memory.`,
    process.state === "closed" && "The tracker is closed: this process delivers nothing more.",
    paused.length > 0 && `Delivery is paused to ${where}. Events wait.`,
    dead.unconfirmed > 0 &&
      html`${countOf(dead.unconfirmed, "event")} may or may not have arrived: ${link("unconfirmed", "decide what to do")}.`,
    givenUp > 0 && html`${countOf(givenUp, "event")} given up: ${link("", "see why")}.`,
  ].filter(Boolean);
  return says.length > 0
    ? says.map((words) => html`<p class="attention">${words}</p>`)
    : html`<p>All is well.</p>`;
}

export function Figures({ outbox: { queued, oldestMs, dead }, process: { lastHour, inFlight } }) {
  const total = ({ payment, registration, click }) => payment + registration + click;
  const figures = [
    ["Waiting", queued, oldestMs === null ? noneIn(queued) : `the oldest for ${span(oldestMs)}`],
    ["Under way", inFlight, "attempts, at this moment"],
    ["Delivered", total(lastHour.delivered), "in the last hour"],
    ["Failed attempts", total(lastHour.retry), "in the last hour"],
    ["Dead letters", sumOf(dead), reasonsIn(dead)],
  ];
  return figures.map(
    ([name, number, note]) => html`
      <div>
        <dt>${name}</dt>
        <dd><strong>${number.toLocaleString([])}</strong><span class="quiet">${note}</span></dd>
      </div>
    `,
  );
}

const noneIn = (queued) => (queued === 0 ? "nothing waits" : "until its time comes");

function reasonsIn(dead) {
  const reasons = Object.entries(dead).filter(([, count]) => count > 0);
  return reasons.map(([reason, count]) => `${count} ${reason}`).join(", ") || "none";
}

export function Waiting({ outbox }) {
  const row = (name, { queued, oldestMs }) => html`
    <tr>
      <th scope="row">${name}</th>
      <td>${queued.toLocaleString([])}</td>
      <td class=${oldestMs === null && "quiet"}>${oldestMs === null ? "none" : span(oldestMs)}</td>
    </tr>
  `;
  const rows = () =>
    outbox.waiting === null
      ? row("all kinds", outbox)
      : KINDS.map((kind) => row(`${kind}s`, outbox.waiting[kind]));
  return html`
    <section aria-labelledby="waiting-title">
      <h2 id="waiting-title">Waiting <span class="quiet">in the outbox, for all processes that share it</span></h2>
      <table>
        <thead><tr><th scope="col">Kind</th><th scope="col">Events</th><th scope="col">Oldest</th></tr></thead>
        <tbody id="waiting">${outbox && rows()}</tbody>
      </table>
      ${outbox?.scheduled?.count > 0 && html`<p id="scheduled" class="quiet">${scheduledIn(outbox.scheduled)}</p>`}
    </section>
  `;
}

function scheduledIn({ count, nextInMs }) {
  return `Scheduled: ${countOf(count, "payment")}, the first to be sent in ${span(nextInMs)}.`;
}

export function Endpoints({ endpoints = [] }) {
  const row = ({ endpoint, state, reason, because, since }) => html`
    <tr key=${endpoint}>
      <th scope="row"><code>${breakable(endpoint)}</code></th>
      <td>
        ${state === "open" ? "open" : html`<strong class="attention">paused</strong>: ${PAUSES[reason]}`}
        ${because !== undefined && html`<div class="quiet">${foreign(because)}</div>`}
      </td>
      <td>${since !== undefined && time(since)}</td>
    </tr>
  `;
  return html`
    <section aria-labelledby="endpoints-title">
      <h2 id="endpoints-title">Endpoints <span class="quiet">as this process finds them</span></h2>
      <table>
        <thead><tr><th scope="col">Endpoint</th><th scope="col">State</th><th scope="col">Since</th></tr></thead>
        <tbody id="endpoints">${endpoints.map(row)}</tbody>
      </table>
    </section>
  `;
}

/** A path that may be broken after its slashes. */
function breakable(path) {
  return path.split(/(?<=\/)/).map((part) => html`${part}<wbr />`);
}

export function sumOf(counts) {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
