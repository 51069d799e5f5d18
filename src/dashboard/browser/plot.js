// The last hour by minutes: what was delivered, what waited, what failed, above one time axis.
import { html } from "../../browser/page.js";
import { countOf, mark } from "../../browser/pieces.js";
import { sumOf } from "./state.js";

const HEIGHT = 20;

export function Plot({ process: { lastHour, waitingByMinute }, at }) {
  const [delivered, retried, held, givenUp] = ["delivered", "retry", "held", "dead"].map(
    (outcome) => lastHour[outcome].minutes,
  );
  const ended = added(held, givenUp);
  const failed = `${countOf(sumOf(retried), "attempt")} tried again, ${sumOf(held)} held, ${sumOf(givenUp)} given up`;
  const clock = (ago) => {
    const when = new Date(Date.parse(at) - ago * 60_000);
    return html`<span>${when.toLocaleTimeString([], { timeStyle: "short", hour12: false })}</span>`;
  };
  return html`
    ${lane("linked", "Delivered", countOf(sumOf(delivered), "event"), sumOf, [delivered])}
    ${lane("waiting", "Waiting", `${waitingByMinute.at(-1).toLocaleString([])} now`, most, [waitingByMinute])}
    ${lane("failed", "Failed", failed, sumOf, [added(retried, ended), ended, givenUp])}
    <p class="axis quiet" aria-hidden="true">${[60, 45, 30, 15, 0].map(clock)}</p>
  `;
}

/** `layers`, for each minute: all; those that are held or given up; those that are given up. */
function lane(state, name, note, ofTen, layers) {
  const [minutes] = layers;
  const tens = [0, 10, 20, 30, 40, 50].map((first) => ofTen(minutes.slice(first, first + 10)));
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

const added = (some, others) => some.map((count, minute) => count + others[minute]);
const most = (numbers) => Math.max(...numbers);

/** One path needs no style of its own. What is not zero can be seen. */
function bars(minutes, highest) {
  const bar = (count, minute) =>
    count > 0 ? `M${minute} ${HEIGHT}v${-Math.max(2, (HEIGHT * count) / highest)}h.8V${HEIGHT}z` : "";
  return minutes.map(bar).join("");
}
