// What a process has done: the last hour, what it did not report, its last failures.
import { change, html } from "../../browser/page.js";
import { countOf, foreign, mark, Table, time, timeOfDay } from "../../browser/pieces.js";
import { kindsOf, sumOf } from "./state.js";

const OUTCOMES = {
  queued: "Reported",
  delivered: "Delivered",
  retry: "Failed attempts",
  held: "Held",
  dead: "Given up",
  skipped: "Skipped",
  dropped: "Dropped",
};

const LABELS = { click: "Clicks", registration: "Regis\u00adtrations", payment: "Payments" };

const FAILURES = {
  retry: ["waiting", "not delivered, tried again"],
  held: ["held", "held"],
  dead: ["lost", "given up"],
  dropped: ["lost", "dropped"],
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

/** Lets the reader choose the process whose numbers the page shows. */
export function ProcessChoice({ process, processes }) {
  return html`
    <label id="processes" hidden=${processes.length < 2}>Process${" "}
      <select id="which" value=${process?.id} onChange=${({ target }) => change({ chosen: target.value })}>
        ${processes.map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}
      </select>
    </label>
    <p id="process" class="quiet">
      ${process && html`${processes.length < 2 && [foreign(process.name), ", "]}counting since ${time(process.since)}`}
    </p>
  `;
}

export function LastHour({ process, liveAt }) {
  return html`
    <section aria-labelledby="hour-title">
      <h2 id="hour-title">The last hour <span class="quiet">of this process, minute by minute</span></h2>
      ${process && html`<${Plot} process=${process} at=${liveAt} />`}
    </section>
  `;
}

export function Process({ process }) {
  return html`
    <section aria-labelledby="process-title">
      <h2 id="process-title">This process</h2>
      <div class="pair">
        <div>
          <h3 id="outcomes-title">The last hour, by kind</h3>
          <${Table} id="hour" aria-labelledby="outcomes-title" columns=${["Outcome", ...kindsInColumns(process).map((kind) => LABELS[kind] ?? kind)]}>
            ${process && hourRows(process)}
          <//>
        </div>
        <div>
          <h3>Not reported, since the process started</h3>
          <${Table} id="unreported" aria-label="Unreported, skipped and dropped, by reason" columns=${["Reason", "Events"]}>
            ${process && unreportedRows(process)}
          <//>
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

/** The least urgent first: a visitor clicks, registers, then pays. */
const kindsInColumns = (process) => kindsOf(process).reverse();

function hourRows(process) {
  const { lastHour } = process;
  return Object.entries(OUTCOMES).map(([outcome, label]) => {
    const numbers = kindsInColumns(process).map((kind) => lastHour[outcome][kind]);
    return html`
      <tr>
        <th scope="row">${label}</th>
        ${numbers.map((number) => html`<td class=${number === 0 && "quiet"}>${number.toLocaleString([])}</td>`)}
      </tr>
    `;
  });
}

const unreportedOf = (kind) => `a wrapped handler answered, and returned no ${kind}`;

function unreportedRows({ unreported, skipped, dropped }) {
  const rows = [
    ...countsIn(unreported).map(([kind, count]) => ["unreported", unreportedOf(kind), count]),
    ...countsIn(skipped).map(([reason, count]) => ["skipped", SKIPPED[reason] ?? reason, count]),
    ...countsIn(dropped).map(([reason, count]) => ["dropped", DROPPED[reason] ?? reason, count]),
  ];
  if (rows.length === 0)
    return html`<tr><th scope="row" class="quiet">none</th><td class="quiet">0</td></tr>`;
  return rows.map(
    ([group, words, count]) => html`
      <tr key=${`${group} ${words}`}>
        <th scope="row">${group === "dropped" && mark("lost")}${group}: ${words}</th>
        <td>${count.toLocaleString([])}</td>
      </tr>
    `,
  );
}

function countsIn(counts) {
  return Object.entries(counts).filter(([, count]) => count > 0);
}

function failureLine({ outcome, kind, because, count, firstAt, lastAt, email }) {
  const [state, what] = FAILURES[outcome];
  const times = count > 1 && html`${count.toLocaleString([])} times since ${time(firstAt)}, last `;
  return html`
    <li key=${`${outcome} ${kind} ${because}`}>
      <p>${mark(state)}<strong>${kind}</strong> ${what}: ${foreign(because)}</p>
      <p class="quiet">${times}${time(lastAt)}${email !== undefined && html`, of ${foreign(email)}`}</p>
    </li>
  `;
}

// The last hour by minutes: what was delivered, and what failed, above one time axis.
const HEIGHT = 20;

function Plot({ process: { lastHour }, at }) {
  const [delivered, retried, held, givenUp] = ["delivered", "retry", "held", "dead"].map(
    (outcome) => lastHour[outcome].minutes,
  );
  const ended = added(held, givenUp);
  const failed = `${countOf(sumOf(retried), "attempt")} tried again, ${sumOf(held)} held, ${sumOf(givenUp)} given up`;
  const clock = (ago) => {
    const when = new Date(Date.parse(at) - ago * 60_000);
    return html`<span>${timeOfDay(when, "short")}</span>`;
  };
  return html`
    ${lane("linked", "Delivered", countOf(sumOf(delivered), "event"), [delivered])}
    ${lane("failed", "Failed", failed, [added(retried, ended), ended, givenUp])}
    <p class="axis quiet" aria-hidden="true">${[60, 45, 30, 15, 0].map(clock)}</p>
  `;
}

/** `layers`, for each minute: all; those that are held or given up; those that are given up. */
function lane(state, name, note, layers) {
  const [minutes] = layers;
  const tens = [0, 10, 20, 30, 40, 50].map((first) => sumOf(minutes.slice(first, first + 10)));
  const says = `${name}, by ten minutes of the last hour: ${tens.join(", ")}`;
  return html`
    <p class="lane">
      ${state !== "failed" && mark(state)}<strong>${name}</strong>
      <span class="quiet">${note}</span>
      <span class="quiet" aria-hidden="true">most in a minute: ${most(minutes).toLocaleString([])}</span>
    </p>
    <svg class=${`plot ${state}`} viewBox=${`0 0 60 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${says}>
      ${layers.map((layer, nth) => html`<path class=${["", "held", "lost"][nth]} d=${bars(layer, most(minutes))} />`)}
    </svg>
  `;
}

const added = (first, second) => first.map((count, minute) => count + second[minute]);
const most = (numbers) => Math.max(...numbers);

/** One path needs no style of its own. What is not zero can be seen. */
function bars(minutes, highest) {
  const bar = (count, minute) =>
    count > 0 ? `M${minute} ${HEIGHT}v${-Math.max(2, (HEIGHT * count) / highest)}h.8V${HEIGHT}z` : "";
  return minutes.map(bar).join("");
}
