// The fault in force, and the buttons that set one.
import { $, html } from "../../../browser/page.js";
import { mark, span, time } from "../../../browser/pieces.js";
import { post } from "./view.js";

/** What each does; during it an app's events are `waiting`, or its payments `held`: they may have arrived. */
const FAULTS = new Map([
  ["ok", ["The service answers.", "linked"]],
  ["down", ["The port refuses connections.", "waiting"]],
  ["slow", ["Requests are recorded at once and answered late.", "waiting"]],
  ["500", ["500 Internal Server Error; nothing is recorded.", "waiting"]],
  ["503", ["503 Service Unavailable; nothing is recorded.", "waiting"]],
  ["429", ["429 Too Many Requests and Retry-After; nothing is recorded.", "waiting"]],
  ["401", ["401 Unauthorized; nothing is recorded.", "waiting"]],
  ["hang", ["Requests are read and never answered; nothing is recorded.", "held"]],
  ["reset", ["Requests are read, then the connection is reset; nothing is recorded.", "held"]],
  ["reset-after", ["Requests are recorded, then the connection is reset instead of an answer.", "held"]],
  ["garbage", ["The answer is not HTTP; nothing is recorded.", "held"]],
]);

export function Faults({ fault, problem }) {
  const { mode, until } = fault ?? {};
  // Not read out, or every second would be.
  const left = until && `${span(Math.max(0, Date.parse(until) - Date.now()))} left`;
  const button = ([name, [does, state]]) => html`
    <p>
      <button type="button" aria-pressed=${name === mode} aria-describedby=${`does-${name}`} onClick=${() => set(name)}>
        ${name}
      </button>
      <span id=${`does-${name}`} class="quiet">${mark(state)}${does}</span>
    </p>
  `;
  return html`
    <section id="faults" aria-label="Faults">
      <p>
        <span role="status">${fault && inForce(fault)}</span>
        ${left && html`, <span class="quiet" aria-hidden="true">${left}</span>`}
      </p>
      <details>
        <summary>Faults</summary>
        <div id="modes">${[...FAULTS].map(button)}</div>
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
          <span class="quiet">${mark("waiting")}Your app’s events wait. ${mark("held")}It holds payments: they may have arrived.</span>
        </p>
      </details>
      <div id="problem" role="alert" class="lost">${problem}</div>
    </section>
  `;
}

function inForce({ mode, since, until }) {
  const [, state] = FAULTS.get(mode);
  if (mode === "ok") return html`${mark(state)}No fault: the service answers.`;
  const end = until ? html`, until ${time(until)}` : ", until told otherwise";
  return html`${mark(state)}<strong class=${state}>${mode}</strong> since ${time(since)}${end}`;
}

function set(mode) {
  const numberIn = (id) => ($(id).value === "" ? undefined : Number($(id).value));
  const times = mode !== "ok" && { forMs: numberIn("duration"), delayMs: numberIn("delay") };
  return post("fault", { mode, ...times });
}
