// How delivery is, in numbers: of the outbox, and of one process.
import { html } from "../../browser/page.js";
import { countOf, foreign, mark, span, Table, time, timeOfDay } from "../../browser/pieces.js";
import { choose } from "./letters.js";

const PAUSES = {
  failing: "it fails",
  silent: "it does not answer",
  throttled: "it asks for a pause",
  unauthorized: "it refuses the API key",
  misconfigured: "the address may be wrong",
  unreachable: "it cannot be reached",
};

const FAILURES = {
  retry: ["waiting", "not delivered, tried again"],
  held: ["held", "held"],
  dead: ["lost", "given up"],
  dropped: ["lost", "dropped"],
};

export function pausedOf({ endpoints }) {
  return Object.keys(endpoints).filter((name) => endpoints[name].state === "paused");
}

const sumOf = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

export function Summary({ outbox: { dead, oldestMs, trouble }, process }) {
  const paused = pausedOf(process);
  const isAll = paused.length === Object.keys(process.endpoints).length;
  const givenUp = dead.rejected + dead.expired;
  const lost = sumOf({ ...process.dropped, "visitor-full": 0 });
  const link = (reason, text) =>
    html`<a href="#letters-title" onClick=${() => choose({ kind: "", reason })}>${text}</a>`;
  const says = [
    trouble && ["lost", html`The outbox’s storage fails: ${foreign(trouble)}. Events wait in memory.`],
    process.state === "closed" && ["waiting", "The tracker is closed: this process delivers nothing more."],
    paused.length > 0 && [
      "waiting",
      `Delivery is paused to ${isAll ? "the service" : paused.join(", ")}. Events wait.`,
    ],
    dead.unconfirmed > 0 && [
      "held",
      html`${countOf(dead.unconfirmed, "event")} may or may not have arrived: ${link("unconfirmed", "decide what to do")}.`,
    ],
    givenUp > 0 && ["lost", html`${countOf(givenUp, "event")} given up: ${link("", "see why")}.`],
    lost > 0 && ["lost", `${countOf(lost, "event")} dropped since this process started: see below.`],
    oldestMs > 3_600_000 && ["waiting", `The oldest event that waits happened ${span(oldestMs)} ago.`],
  ].filter(Boolean);
  if (says.length === 0) says.push(["linked", "All is well."]);
  return html`
    <div id="summary" role="status">
      ${says.map(([state, words]) => html`<p class=${state !== "linked" && state}>${mark(state)}${words}</p>`)}
    </div>
  `;
}

export function Waiting({ waiting, queued, oldestMs, scheduled }) {
  const row = ([name, { queued, oldestMs }]) => html`
    <tr>
      <th scope="row">${name}</th>
      <td>${queued.toLocaleString([])}</td>
      <td class=${oldestMs === null && "quiet"}>${oldestMs === null ? "none" : span(oldestMs)}</td>
    </tr>
  `;
  const rows = waiting ? Object.entries(waiting).reverse() : [["all kinds", { queued, oldestMs }]];
  return html`
    <section aria-labelledby="waiting-title">
      <h2 id="waiting-title">Waiting <span class="quiet">for all processes that share the outbox</span></h2>
      <${Table} columns=${["Kind", "Events", "Oldest"]}>${rows.map(row)}<//>
      ${scheduled?.count > 0 && html`<p class="quiet">Scheduled: ${countOf(scheduled.count, "payment")}, the first to be sent in ${span(scheduled.nextInMs)}.</p>`}
    </section>
  `;
}

export function Endpoints({ endpoints }) {
  const row = ([name, { state, reason, pausedMs }]) => html`
    <tr>
      <th scope="row"><code>${name}</code></th>
      <td>${state === "open" ? "open" : html`<strong class="waiting">${mark("waiting")}paused</strong>: ${PAUSES[reason]}`}</td>
      <td>${pausedMs !== undefined && span(pausedMs)}</td>
    </tr>
  `;
  return html`
    <section aria-labelledby="endpoints-title">
      <h2 id="endpoints-title">Endpoints <span class="quiet">as this process finds them</span></h2>
      <${Table} columns=${["Endpoint", "State", "For"]}>${Object.entries(endpoints).map(row)}<//>
    </section>
  `;
}

const countsIn = (counts) => Object.entries(counts).filter(([, count]) => count > 0);

/** What a process has not reported since it started, and its last failures. */
export function NotReported({ unreported, skipped, dropped, failures }) {
  const rows = Object.entries({ unreported, skipped, dropped }).flatMap(([what, counts]) =>
    countsIn(counts).map(([reason, count]) => [what, reason, count]),
  );
  const words = (what, reason) =>
    what === "unreported" ? `a wrapped handler answered, and returned no ${reason}` : reason;
  return html`
    <section aria-labelledby="unreported-title">
      <h2 id="unreported-title">Not reported <span class="quiet">since this process started</span></h2>
      <${Table} aria-labelledby="unreported-title" columns=${["Reason", "Events"]}>
        ${rows.length === 0 && html`<tr><th scope="row" class="quiet">none</th><td class="quiet">0</td></tr>`}
        ${rows.map(
          ([what, reason, count]) => html`
            <tr key=${`${what} ${reason}`}>
              <th scope="row">${what === "dropped" && mark("lost")}${what}: ${words(what, reason)}</th>
              <td>${count.toLocaleString([])}</td>
            </tr>
          `,
        )}
      <//>
    </section>
    <section aria-labelledby="failures-title">
      <h2 id="failures-title">The last failures</h2>
      <ol>
        ${failures.length === 0 && html`<li class="quiet">None.</li>`}
        ${failures.map(failure)}
      </ol>
    </section>
  `;
}

function failure({ outcome, kind, because, count, lastAt }) {
  const [state, what] = FAILURES[outcome];
  return html`
    <li key=${`${outcome} ${kind} ${because}`}>
      <p>${mark(state)}<strong>${kind}</strong> ${what}: ${foreign(because)}</p>
      <p class="quiet">${count > 1 && `${count.toLocaleString([])} times, last `}${time(lastAt)}</p>
    </li>
  `;
}

const HEIGHT = 20;

/** The last hour by minutes: what was delivered, and what failed, above one time axis. */
export function LastHour({ lastHour: { delivered, retry, held, dead } }) {
  const added = (first, second) => first.map((count, minute) => count + second[minute]);
  const ended = added(held, dead);
  const failed = `${countOf(sumOf(retry), "attempt")} tried again, ${sumOf(held)} held, ${sumOf(dead)} given up`;
  const clock = (ago) => html`<span>${timeOfDay(new Date(Date.now() - ago * 60_000), "short")}</span>`;
  return html`
    <section aria-labelledby="hour-title">
      <h2 id="hour-title">The last hour <span class="quiet">of this process, minute by minute</span></h2>
      ${lane("linked", "Delivered", countOf(sumOf(delivered), "event"), [delivered])}
      ${lane("failed", "Failed", failed, [added(retry, ended), ended, dead])}
      <p class="axis quiet" aria-hidden="true">${[60, 45, 30, 15, 0].map(clock)}</p>
    </section>
  `;
}

/** `layers`, for each minute: all; those that are held or given up; those that are given up. */
function lane(state, name, note, layers) {
  const [minutes] = layers;
  const most = Math.max(...minutes);
  const tens = [0, 10, 20, 30, 40, 50].map((first) => sumOf(minutes.slice(first, first + 10)));
  const says = `${name}, by ten minutes of the last hour: ${tens.join(", ")}`;
  // One path needs no style of its own. What is not zero can be seen.
  const bar = (count, minute) =>
    count > 0 ? `M${minute} ${HEIGHT}v${-Math.max(2, (HEIGHT * count) / most)}h.8V${HEIGHT}z` : "";
  return html`
    <p class="lane">
      ${state !== "failed" && mark(state)}<strong>${name}</strong>
      <span class="quiet">${note}</span>
      <span class="quiet" aria-hidden="true">most in a minute: ${most.toLocaleString([])}</span>
    </p>
    <svg class=${`plot ${state}`} viewBox=${`0 0 60 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${says}>
      ${layers.map((layer, nth) => html`<path class=${["", "held", "lost"][nth]} d=${layer.map(bar).join("")} />`)}
    </svg>
  `;
}
