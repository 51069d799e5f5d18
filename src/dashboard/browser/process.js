// What a process has done: the last hour, what it did not report, its last failures.
import { change, html } from "../../browser/page.js";
import { countOf, foreign, time } from "../../browser/pieces.js";
import { sumOf } from "./state.js";

const OUTCOMES = {
  queued: "Reported",
  delivered: "Delivered",
  retry: "Failed attempts",
  dead: "Given up",
  skipped: "Skipped",
  dropped: "Dropped",
};

const SKIPPED = {
  "no-attribution": "the visitor brought no click id and no session id",
  "not-referred": "no affiliate referred the visitor",
  consent: "the visitor did not consent",
  disabled: "the tracker is disabled",
  prefetch: "the page was loaded ahead",
  bot: "the visitor is a bot",
  "not-a-page": "the request was for no page",
  zero: "the amount was zero",
};

const DROPPED = {
  invalid: "what was reported is invalid",
  full: "the outbox was full",
  "visitor-full": "the visitor had too many clicks",
  "dead-letters-full": "there were too many dead letters",
  outbox: "the outbox did not take it",
  closed: "the tracker was closed",
  pick: "the host’s `pick` threw",
};

const UNREPORTED = {
  registration: "a wrapped handler answered, and returned no registration",
  payment: "a wrapped handler answered, and returned no payment",
};

export function Process({ process, processes }) {
  return html`
    <section aria-labelledby="process-title">
      <div class="head">
        <h2 id="process-title">This process${" "}
          <span id="process" class="quiet">
            ${process && html`${foreign(process.name)}, counting since ${time(process.since)}`}
          </span>
        </h2>
        <label id="processes" hidden=${processes.length < 2}>Process${" "}
          <select id="which" value=${process?.id} onChange=${({ target }) => change({ chosen: target.value })}>
            ${processes.map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}
          </select>
        </label>
      </div>
      <div class="pair uneven">
        <div>
          <h3 id="hour-title">The last hour</h3>
          <table aria-labelledby="hour-title">
            <thead>
              <tr>
                <th scope="col">Outcome</th>
                <th scope="col">By minute</th>
                <th scope="col">Clicks</th>
                <th scope="col">Regis\u00adtrations</th>
                <th scope="col">Payments</th>
              </tr>
            </thead>
            <tbody id="hour">${process && hourRows(process)}</tbody>
          </table>
        </div>
        <div>
          <h3>Not reported, since the process started</h3>
          <table aria-label="Unreported, skipped and dropped, by reason">
            <thead><tr><th scope="col">Reason</th><th scope="col">Events</th></tr></thead>
            <tbody id="unreported">${process && unreportedRows(process)}</tbody>
          </table>
        </div>
      </div>
      <h3>The last failures</h3>
      <ol id="failures">
        ${process?.failures.length === 0 && html`<li class="quiet">None.</li>`}
        ${process?.failures.map(failureLine)}
      </ol>
    </section>
  `;
}

function hourRows({ lastHour }) {
  return Object.entries(OUTCOMES).map(([outcome, label]) => {
    const { minutes, ...kinds } = lastHour[outcome];
    const numbers = ["click", "registration", "payment"].map((kind) => kinds[kind]);
    return html`
      <tr>
        <th scope="row">${label}</th>
        <td>${bars(minutes, label)}</td>
        ${numbers.map((number) => html`<td class=${number === 0 && "quiet"}>${number.toLocaleString([])}</td>`)}
      </tr>
    `;
  });
}

/** A bar for each minute. Its shape is one path, so that it needs no style of its own. */
function bars(minutes, label) {
  const most = Math.max(1, ...minutes);
  const heights = minutes.map((count) => (count === 0 ? 0 : Math.max(2, (20 * count) / most)));
  const path = heights.map((height, x) => (height > 0 ? `M${x} 20v${-height}h.8V20z` : "")).join("");
  const total = countOf(sumOf(minutes), "event");
  const says = `${label}: ${total} in the last hour, ${Math.max(...minutes)} in the busiest minute`;
  return html`
    <svg viewBox="0 0 60 20" preserveAspectRatio="none" role="img" aria-label=${says}><path d=${path} /></svg>
  `;
}

function unreportedRows({ unreported, skipped, dropped }) {
  const rows = [
    ...countsIn(unreported).map(([kind, count]) => ["unreported", UNREPORTED[kind] ?? kind, count]),
    ...countsIn(skipped).map(([reason, count]) => ["skipped", SKIPPED[reason] ?? reason, count]),
    ...countsIn(dropped).map(([reason, count]) => ["dropped", DROPPED[reason] ?? reason, count]),
  ];
  if (rows.length === 0)
    return html`<tr><th scope="row" class="quiet">none</th><td class="quiet">0</td></tr>`;
  return rows.map(
    ([group, words, count]) => html`
      <tr key=${`${group} ${words}`}>
        <th scope="row"><span class=${group === "dropped" && "attention"}>${group}</span>: ${words}</th>
        <td>${count.toLocaleString([])}</td>
      </tr>
    `,
  );
}

function countsIn(counts) {
  return Object.entries(counts).filter(([, count]) => count > 0);
}

function failureLine({ outcome, kind, because, count, firstAt, lastAt, email }) {
  const what = { retry: "not delivered, tried again", dead: "given up", dropped: "dropped" }[outcome];
  const times = count > 1 && html`${count.toLocaleString([])} times since ${time(firstAt)}, last `;
  return html`
    <li key=${`${outcome} ${kind} ${because}`}>
      <p><strong>${kind}</strong> ${what}: ${foreign(because)}</p>
      <p class="quiet">${times}${time(lastAt)}${email !== undefined && html`, of ${foreign(email)}`}</p>
    </li>
  `;
}
