// The last hour, minute by minute: what was delivered, what waited and what failed, in lanes above one axis of time.
import { html } from "../../browser/page.js";
import { countOf, mark } from "../../browser/pieces.js";
import { sumOf } from "./state.js";

const HEIGHT = 20;

export function Plot({ process: { lastHour, waitingByMinute }, at }) {
  const { delivered, retry, held, dead } = lastHour;
  const ended = dead.minutes.map((count, minute) => count + held.minutes[minute]);
  const failed = retry.minutes.map((count, minute) => count + ended[minute]);
  const [sent, retried, unconfirmed, givenUp] = [delivered, retry, held, dead].map(({ minutes }) =>
    sumOf(minutes),
  );
  const lanes = [
    ["linked", "Delivered", delivered.minutes, countOf(sent, "event"), sumOf],
    ["waiting", "Waiting", waitingByMinute, `${waitingByMinute.at(-1).toLocaleString([])} now`, most],
    [
      "failed",
      "Failed",
      failed,
      `${countOf(retried, "attempt")} tried again, ${unconfirmed} held, ${givenUp} given up`,
      sumOf,
    ],
  ];
  return html`
    ${lanes.map(([state, name, minutes, note, ofTen]) => {
      const tens = [0, 10, 20, 30, 40, 50].map((first) => ofTen(minutes.slice(first, first + 10)));
      return html`
        <div class="lane" key=${name}>
          <p>
            ${state !== "failed" && mark(state)}
            <strong>${name}</strong> <span class="quiet">${note}</span>
            <span class="quiet" aria-hidden="true">most in a minute: ${most(minutes).toLocaleString([])}</span>
          </p>
          <svg
            class=${`plot ${state}`}
            viewBox=${`0 0 60 ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label=${`${name}, by ten minutes of the last hour: ${tens.join(", ")}`}
          >
            <path d=${bars(minutes, most(minutes), state === "waiting" ? 1 : 0.75)} />
            ${
              state === "failed" &&
              html`
              <path class="held" d=${bars(ended, most(minutes), 0.75)} />
              <path class="lost" d=${bars(dead.minutes, most(minutes), 0.75)} />
            `
            }
          </svg>
        </div>
      `;
    })}
    <p class="axis quiet" aria-hidden="true">
      ${[60, 45, 30, 15, 0].map((ago) => html`<span>${clockTime(Date.parse(at) - ago * 60_000)}</span>`)}
    </p>
  `;
}

const most = (numbers) => Math.max(...numbers);

/** One path, so that it needs no style of its own. What is not zero can be seen. */
function bars(minutes, highest, width) {
  const bar = (count, minute) =>
    count > 0 ? `M${minute} ${HEIGHT}v${-Math.max(2, (HEIGHT * count) / highest)}h${width}V${HEIGHT}z` : "";
  return minutes.map(bar).join("");
}

function clockTime(at) {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
}
