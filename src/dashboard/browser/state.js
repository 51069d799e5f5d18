// How delivery is: the numbers of the outbox, and of the chosen process.
import { html } from "../../browser/page.js";
import { countOf, foreign, mark, span, Table, time } from "../../browser/pieces.js";
import { choose } from "./look.js";

const PAUSES = {
  failing: "it fails",
  silent: "it does not answer",
  throttled: "it asks for a pause",
  unauthorized: "it refuses the API key",
  misconfigured: "the address may be wrong",
  unreachable: "it cannot be reached",
};

/** The kinds of events, the most urgent first. */
export function kindsOf(process) {
  return [...new Set(process?.endpoints.map(({ kind }) => kind))];
}

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
    trouble && ["lost", html`The outbox’s storage fails: ${foreign(trouble)}. Events wait in memory.`],
    process.state === "closed" && ["waiting", "The tracker is closed: this process delivers nothing more."],
    paused.length > 0 && ["waiting", `Delivery is paused to ${where}. Events wait.`],
    dead.unconfirmed > 0 && [
      "held",
      html`${countOf(dead.unconfirmed, "event")} may or may not have arrived: ${link("unconfirmed", "decide what to do")}.`,
    ],
    givenUp > 0 && ["lost", html`${countOf(givenUp, "event")} given up: ${link("", "see why")}.`],
  ].filter(Boolean);
  if (says.length === 0) says.push(["linked", "All is well."]);
  return says.map(
    ([state, words]) => html`<p class=${state !== "linked" && state}>${mark(state)}${words}</p>`,
  );
}

export function Figures({ outbox: { queued, oldestMs, dead }, process: { lastHour, inFlight } }) {
  const { unconfirmed, ...givenUp } = dead;
  const oldest = oldestMs === null ? noneIn(queued) : `the oldest for ${span(oldestMs)}`;
  const figures = [
    ["linked", "Delivered", sumOf(lastHour.delivered.minutes), "in the last hour"],
    ["waiting", "Waiting", queued, inFlight > 0 ? `${oldest}, ${inFlight} under way` : oldest],
    ["held", "Held", unconfirmed, unconfirmed > 0 ? "may have arrived" : "none"],
    ["lost", "Given up", sumOf(givenUp), reasonsIn(givenUp)],
  ];
  return figures.map(
    ([state, name, number, note]) => html`
      <div class=${number === 0 && "none"}>
        <dt>${mark(state)}${name}</dt>
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
      : Object.entries(outbox.waiting)
          .reverse()
          .map(([kind, ofKind]) => row(`${kind}s`, ofKind));
  return html`
    <section aria-labelledby="waiting-title">
      <h2 id="waiting-title">Waiting <span class="quiet">for all processes that share the outbox</span></h2>
      <${Table} id="waiting" columns=${["Kind", "Events", "Oldest"]}>${outbox && rows()}<//>
      ${outbox?.scheduled?.count > 0 && html`<p id="scheduled" class="quiet">${scheduledIn(outbox.scheduled)}</p>`}
    </section>
  `;
}

function scheduledIn({ count, nextInMs }) {
  return `Scheduled: ${countOf(count, "payment")}, the first to be sent in ${span(nextInMs)}.`;
}

export function Endpoints({ endpoints = [] }) {
  const row = ({ endpoint, state, reason, since }) => html`
    <tr key=${endpoint}>
      <th scope="row"><code>${breakable(endpoint)}</code></th>
      <td>
        ${state === "open" ? "open" : html`<strong class="waiting">${mark("waiting")}paused</strong>: ${PAUSES[reason]}`}
      </td>
      <td>${since !== undefined && time(since)}</td>
    </tr>
  `;
  return html`
    <section aria-labelledby="endpoints-title">
      <h2 id="endpoints-title">Endpoints <span class="quiet">as this process finds them</span></h2>
      <${Table} id="endpoints" columns=${["Endpoint", "State", "Since"]}>${endpoints.map(row)}<//>
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
