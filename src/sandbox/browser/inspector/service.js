// What the app needs to know of the service, and the buttons that make it fail.
import { $, Component, change, html } from "../../../browser/page.js";
import { countOf, foreign, span, time } from "../../../browser/pieces.js";
import { post } from "./feed.js";

/** What each fault does, and what becomes of the reports that meet it. */
const faults = {
  ok: ["No fault: the service answers."],
  down: ["The port refuses connections."],
  slow: ["Requests are recorded at once and answered late.", "answered late"],
  500: ["Every request fails with 500 Internal Server Error; nothing is recorded.", "missed"],
  503: ["Every request fails with 503 Service Unavailable; nothing is recorded.", "missed"],
  429: ["Every request fails with 429 Too Many Requests and Retry-After; nothing is recorded.", "missed"],
  401: ["Every request fails with 401 Unauthorized; nothing is recorded.", "missed"],
  hang: ["Requests are read and never answered; nothing is recorded.", "missed"],
  reset: ["Requests are read, then the connection is reset; nothing is recorded.", "missed"],
  "reset-after": [
    "Requests are recorded, then the connection is reset instead of an answer.",
    "recorded without an answer",
  ],
  garbage: ["The answer is not HTTP; nothing is recorded.", "missed"],
};
const modes = ["ok", "down", "slow", "500", "503", "429", "401", "hang", "reset", "reset-after", "garbage"];

const nouns = {
  click: "click",
  registration: "registration",
  registrationLead: "registration",
  paymentLead: "payment",
};

/** What a fault cost, in words. */
export function costsOf({ mode, requests, reports, recorded }) {
  if (mode === "down") return "refused connections leave no trace here; what was sent meanwhile is not known";
  if (requests === 0) return "no request met it";
  const counts = {};
  for (const [endpoint, count] of Object.entries(reports)) {
    const noun = nouns[endpoint];
    counts[noun] = (counts[noun] ?? 0) + count;
  }
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (total === 0) return `${countOf(requests, "request")} met it`;
  const [, effect] = faults[mode];
  const what = `${Object.entries(counts)
    .map(([noun, count]) => countOf(count, noun))
    .join(", ")} ${effect}`;
  if (effect !== "missed") return what;
  if (recorded === 0) return `${what}; none recorded since`;
  return `${what}; ${recorded === total ? "all" : `${recorded} of ${total}`} recorded since`;
}

export function About({ about, isKeyCopied }) {
  if (!about) return html`<dl id="about"></dl>`;
  const { url, clientId, apiKey, file } = about;
  const copy = async () => {
    await navigator.clipboard.writeText(apiKey);
    change({ isKeyCopied: true });
  };
  return html`
    <dl id="about">
      <div><dt>Base URL</dt><dd><code>${url}</code></dd></div>
      <div><dt>Client id</dt><dd><code>${clientId}</code></dd></div>
      <div>
        <dt>API key</dt>
        <dd>
          <code>${apiKey}</code>${" "}
          <button type="button" aria-label="Copy the API key" onClick=${copy}>${isKeyCopied ? "Copied" : "Copy"}</button>
        </dd>
      </div>
      <div><dt>Ledger</dt><dd>${file ? foreign(file, "code") : "in memory"}</dd></div>
      <div><dt>API description</dt><dd><a href=${`${url}/openapi.json`}>OpenAPI</a></dd></div>
    </dl>
  `;
}

/** The fault in force, what it has cost so far, and the buttons that set one. */
export function FaultBar({ state, isStopped, problem }) {
  const mode = state?.fault.mode;
  const button = (each) => html`
    <button
      type="button"
      value=${each}
      title=${faults[each][0]}
      aria-pressed=${each === mode}
      onClick=${() => setFault(each)}
    >${each}</button>
  `;
  return html`
    <section class="bar" aria-label="Faults">
      <p>
        <span id="fault" role="status">${isStopped ? "The sandbox has stopped." : state && faultInForce(state.fault)}</span>
        ${" "}<${TimeLeft} until=${state?.fault.until} />
      </p>
      <fieldset disabled=${isStopped}>
        <legend class="unseen">How the service behaves</legend>
        <span id="modes">${modes.map(button)}</span>
        <label>for${" "}
          <select id="duration">
            <option value="10000">10 seconds</option>
            <option value="30000" selected>30 seconds</option>
            <option value="120000">2 minutes</option>
            <option value="600000">10 minutes</option>
            <option value="">until told otherwise</option>
          </select>
        </label>
        <label>slow by <input id="delay" type="number" min="1" max="600000" defaultValue="2000" inputmode="numeric" /> ms</label>
      </fieldset>
      <div id="costs" class="quiet">${state && costsSoFar(state)}</div>
      <div id="problem" role="alert" class="attention">${problem}</div>
    </section>
  `;
}

function faultInForce({ mode, since, until }) {
  if (mode === "ok") return faults.ok[0];
  const end = until ? html`, until ${time(until)}` : ", until told otherwise";
  return html`<strong class="attention">${mode}</strong> since ${time(since)}${end}`;
}

function costsSoFar({ fault: { mode }, faults: [last] }) {
  return mode !== "ok" && `${faults[mode][0]} So far: ${last ? costsOf(last) : "nothing"}.`;
}

/** How long the fault still lasts. Not read out, or every second would be. */
class TimeLeft extends Component {
  componentDidMount() {
    setInterval(() => this.setState({}), 1000);
  }

  render({ until }) {
    const left = until && `${span(Math.max(0, Date.parse(until) - Date.now()))} left`;
    return html`<span id="left" aria-hidden="true">${left}</span>`;
  }
}

function setFault(mode) {
  const numberIn = (id) => ($(id).value === "" ? undefined : Number($(id).value));
  const how = mode === "ok" ? {} : { forMs: numberIn("duration"), delayMs: numberIn("delay") };
  return post("fault", { mode, ...how });
}

export function Decisions({ decisions = [] }) {
  const pair = ({ section, open, decision }) => html`<dt>${section}: ${open}</dt><dd>${decision}</dd>`;
  return html`
    <section aria-labelledby="decisions-title">
      <div class="head"><h2 id="decisions-title">Where the specification is silent</h2></div>
      <details>
        <summary>What this sandbox decided; the real service may do otherwise</summary>
        <dl id="decisions">${decisions.map(pair)}</dl>
      </details>
    </section>
  `;
}
