// What the app needs to know of the service, and the buttons that make it fail.
import { $, Component, change, html } from "../../../browser/page.js";
import { copyButton, foreign, mark, span, time } from "../../../browser/pieces.js";
import { decisions } from "./decisions.js";
import { post } from "./feed.js";

/** What each fault does, and what an app does with the reports that meet it. */
const faults = {
  ok: ["The service answers.", "linked"],
  down: ["The port refuses connections.", "waiting"],
  slow: ["Requests are recorded at once and answered late.", "waiting"],
  500: ["500 Internal Server Error; nothing is recorded.", "waiting"],
  503: ["503 Service Unavailable; nothing is recorded.", "waiting"],
  429: ["429 Too Many Requests and Retry-After; nothing is recorded.", "waiting"],
  401: ["401 Unauthorized; nothing is recorded.", "waiting"],
  hang: ["Requests are read and never answered; nothing is recorded.", "held"],
  reset: ["Requests are read, then the connection is reset; nothing is recorded.", "held"],
  "reset-after": ["Requests are recorded, then the connection is reset instead of an answer.", "held"],
  garbage: ["The answer is not HTTP; nothing is recorded.", "held"],
};

/** During a fault, events are `waiting`, or payments `held`, for they may have arrived. */
const stateIn = (mode) => faults[mode][1];

export function About({ about }) {
  if (!about) return html`<dl id="about"></dl>`;
  const { url, clientId, apiKey, file } = about;
  // The name that leads here from the reader's machine.
  const description = Object.assign(new URL("/openapi.json", url), { hostname: location.hostname });
  return html`
    <dl id="about">
      <div><dt>Base URL</dt><dd><code>${url}</code></dd></div>
      <div><dt>Client id</dt><dd><code>${clientId}</code></dd></div>
      <div>
        <dt>API key</dt>
        <dd><code>${apiKey}</code>${" "}${copyButton(apiKey, "Copy the API key")}</dd>
      </div>
      <div><dt>Ledger</dt><dd>${file ? foreign(file, "code") : "in memory"}</dd></div>
      <div><dt>API description</dt><dd><a href=${description}>OpenAPI</a></dd></div>
    </dl>
  `;
}

/** The fault in force, and the buttons that set one. */
export function FaultBar({ state, isStopped, problem, areFaultsOpen }) {
  const mode = state?.fault.mode ?? "ok";
  const fault = (name) => html`
    <p>
      <button type="button" aria-pressed=${name === mode} aria-describedby=${`does-${name}`} onClick=${() => setFault(name)}>
        ${name}
      </button>
      <span id=${`does-${name}`} class="quiet">${faults[name][0]}</span>
    </p>
  `;
  const group = (state, title) => html`
    <h2>${mark(state)}${title}</h2>
    ${Object.keys(faults)
      .filter((name) => stateIn(name) === state)
      .map(fault)}
  `;
  return html`
    <div role="region" aria-label="Faults">
      <p id="fault" role="status">${isStopped ? "The sandbox has stopped." : state && faultInForce(state.fault)}</p>
      <p id="in-force" class="quiet" hidden=${mode === "ok"}>
        <button type="button" disabled=${isStopped} onClick=${endFault}>End the fault</button>
        ${" "}<${TimeLeft} until=${state?.fault.until} /> ${faults[mode][0]}
      </p>
      <fieldset id="modes" hidden=${!areFaultsOpen} disabled=${isStopped}>
        <legend class="unseen">How the service behaves</legend>
        <div>${group("linked", "No fault")}${group("held", "Your app holds payments: they may have arrived")}</div>
        <div>${group("waiting", "Your app’s events wait")}</div>
        <p class="how">
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
        </p>
      </fieldset>
      <div id="problem" role="alert" class="lost">${problem}</div>
    </div>
  `;
}

export function showFaults(areFaultsOpen) {
  change({ areFaultsOpen });
}

function faultInForce({ mode, since, until }) {
  if (mode === "ok") return html`${mark("linked")}No fault: the service answers.`;
  const end = until ? html`, until ${time(until)}` : ", until told otherwise";
  return html`${mark(stateIn(mode))}<strong class=${stateIn(mode)}>${mode}</strong> since ${time(since)}${end}`;
}

/** How long the fault lasts. Not read out, or every second would be. */
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

/** The button that was pressed disappears, so another one takes the focus. */
function endFault() {
  $("faults").focus();
  return setFault("ok");
}

export function Decisions() {
  return html`
    <section aria-labelledby="decisions-title">
      <h2 id="decisions-title">Where the specification is silent</h2>
      <details>
        <summary>What this sandbox decided; the real service may do otherwise</summary>
        <dl id="decisions">${Object.entries(decisions).map(([open, decision]) => html`<dt>${open}</dt><dd>${decision}</dd>`)}</dl>
      </details>
    </section>
  `;
}
