// The dead letters as the reader has chosen them.
import { html } from "../../browser/page.js";
import { amount, countOf, foreign, mark, time, written } from "../../browser/pieces.js";
import { decide, discard, discardAll, nameOf, retry, retryAll } from "./decisions.js";
import { choose, showMore } from "./look.js";
import { kindsOf, sumOf } from "./state.js";

const REASONS = ["unconfirmed", "rejected", "expired"].map((reason) => [reason, reason]);

/** `list`: letters and the filter that they were read with; `undefined` before the first. */
export function DeadLetters({ list, filter, process, unreadable, problem, done, isStopped }) {
  const { letters, filter: chosen = filter } = list ?? {};
  const all = nameOfAll(chosen);
  const hasDestinations = new Set(letters?.map(({ destination }) => destination)).size > 1;
  const isEmpty = letters?.length === 0;
  const filtering = { filter, onChoose: choose };
  return html`
    <section aria-labelledby="letters-title">
      <div class="head">
        <h2 id="letters-title" tabindex="-1">Dead letters <span class="quiet">not sent again unless you say so</span></h2>
        <fieldset disabled=${isStopped}>
          <legend class="unseen">Which dead letters</legend>
          <${Choice} id="kind" label="Kind" all="any kind" options=${kindsOf(process).map((kind) => [kind, `${kind}s`])} ...${filtering} />
          <${Choice} id="reason" label="Reason" all="any reason" options=${REASONS} ...${filtering} />
          <button type="button" id="retry-all" hidden=${isEmpty} onClick=${() => retryAll(chosen)}>
            Retry ${all}${chosen.reason === "unconfirmed" && "…"}
          </button>
          <button type="button" id="discard-all" hidden=${isEmpty} onClick=${() => discardAll(chosen)}>
            Discard ${all}…
          </button>
        </fieldset>
      </div>
      <div id="problem" role="alert" class="lost">${problem}</div>
      <p id="done" role="status">${done}</p>
      <ol id="letters">
        ${isEmpty && html`<li class="quiet">${isNarrowed(chosen) ? "None is like that." : "None."}</li>`}
        ${letters?.map((letter) => html`<${Letter} key=${letter.id} ...${{ letter, hasDestinations, isStopped }} />`)}
      </ol>
      <p class="more">
        <span id="letters-count">
          ${unreadable ? html`<span class="lost">${unreadable}</span>` : list?.more && howMany(list)}
        </span>
        ${" "}<button type="button" id="more" hidden=${!list?.canShowMore} onClick=${showMore}>Show more</button>
      </p>
    </section>
  `;
}

function isNarrowed({ kind, reason }) {
  return kind !== "" || reason !== "";
}

/** `all`, `all unconfirmed payments`. */
function nameOfAll({ kind, reason }) {
  return isNarrowed({ kind, reason }) ? `all ${reason} ${kind || "event"}s`.replace("  ", " ") : "all";
}

/** Their number is known by reason, not by kind. */
function howMany({ letters, filter: { kind, reason }, counts }) {
  const total = reason === "" ? sumOf(counts) : counts[reason];
  return `The oldest ${letters.length}${kind === "" ? ` of ${total.toLocaleString([])}` : "; there are more"}.`;
}

function Letter({ letter, hasDestinations, isStopped }) {
  const { id, kind, reason, attempts, status, code, message, createdAt, diedAt, destination } = letter;
  const answer = [[status, code].filter(Boolean).join(" "), message].filter(Boolean).join(", ");
  const isUndecided = reason === "unconfirmed";
  const state = isUndecided ? "held" : "lost";
  const button = (action, label) => html`
    <button type="button" key=${label} aria-describedby=${`what-${id}`} onClick=${() => action(letter)}>${label}</button>
  `;
  return html`
    <li class="letter">
      <div id=${`what-${id}`}>
        <p><strong>${kind}</strong> ${nameOf(letter)}</p>
        <p>${detailsOf(letter)}</p>
      </div>
      <div>
        <p><strong class=${state}>${mark(state)}${reason}</strong>${answer && ": "}${foreign(answer)}</p>
        <p class="quiet">
          happened ${time(createdAt)}, ${isUndecided ? "held" : "given up"} ${time(diedAt)} after ${countOf(attempts, "attempt")}
          ${hasDestinations && html`, for client id ${destination}`}
        </p>
      </div>
      <fieldset disabled=${isStopped}>
        <legend class="unseen">What to do with it</legend>
        ${!letter.unreadable && (isUndecided ? button(decide, "Decide…") : button(retry, "Retry"))}
        ${(letter.unreadable || !isUndecided) && button(discard, "Discard…")}
      </fieldset>
    </li>
  `;
}

function detailsOf({ amount: value, email, affiliate, unreadable }) {
  return [
    unreadable && html`<span class="lost">what is stored of it cannot be read: it can be discarded</span>`,
    value !== undefined && html`<span class="amount">${amount(value)}</span> of `,
    email !== undefined && foreign(email),
    affiliate !== undefined && html`through ${foreign(affiliate)}`,
  ];
}

/** Narrows a list: one of `options`, which are pairs of a value and its words, or `all`. */
function Choice({ id, label, all, options, filter, onChoose }) {
  return html`
    <select id=${id} aria-label=${label} value=${filter[id]} onInput=${({ target }) => onChoose({ [id]: target.value })}>
      ${[["", all], ...options].map(([value, words]) => html`<option key=${value} value=${value} dir="auto">${written(words)}</option>`)}
    </select>
  `;
}
