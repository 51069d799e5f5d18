// What the reader does to dead letters, with a question before what cannot be taken back.
import { $, change, html, shown } from "../../browser/page.js";
import { amount, countOf, foreign, identifier, time } from "../../browser/pieces.js";
import { look, post, read } from "./look.js";

const QUEUED_AGAIN = "It is queued again, and is sent behind what its visitor has waiting.";

let isUnderWay = false;

/** Runs one action at a time, shows what came of it, and keeps the focus near its place. */
async function attempt(action, id) {
  if (isUnderWay) return;
  const place = shown.list?.letters.findIndex((letter) => letter.id === id);
  change({ problem: "", done: "" });
  isUnderWay = true;
  try {
    const done = await action();
    if (done === undefined) return;
    change({ done });
  } catch (error) {
    change({ problem: error.message });
  } finally {
    isUnderWay = false;
  }
  await look({ letters: true });
  if (document.activeElement !== document.body) return;
  const rows = [...$("letters").querySelectorAll(".letter")];
  const next = rows[Math.min(place, rows.length - 1)]?.querySelector("button") ?? $("letters-title");
  next.focus();
}

export function retry({ id }) {
  return attempt(async () => {
    await post("retry", { id });
    return QUEUED_AGAIN;
  }, id);
}

/** The service may have it. */
export function decide(letter) {
  const { id, kind, amount: value, email, createdAt, diedAt, code, status } = letter;
  const ofAmount = value !== undefined && ` of ${amount(value)}`;
  return attempt(async () => {
    const why = code ?? status;
    const answer = await ask({
      title: html`Did the service get ${kind} ${nameOf(letter)}${ofAmount}?`,
      body: html`
        <p>
          It was sent, and no answer came${why !== undefined && html` (${foreign(why)})`}.${" "}
          Sent again, it may count twice${kind === "payment" && ", and be paid out twice"}.
        </p>
        <p>Look in the service’s own dashboard for:</p>
        <dl>
          <${Pair} term="Customer">${email === undefined ? "unknown" : foreign(email)}<//>
          ${value !== undefined && html`<${Pair} term="Amount">${amount(value)}<//>`}
          <${Pair} term="Between">${time(createdAt)} and ${time(diedAt)}<//>
        </dl>
        ${
          kind === "payment" &&
          html`
            <p class="quiet">
              The service does not know your payment id. Your own records have the full address under it.
            </p>
          `
        }
      `,
      answers: [
        ["discard", "It is there: discard"],
        [
          "retry",
          value === undefined ? "It is not: send it again" : `It is not: send ${amount(value)} again`,
        ],
      ],
    });
    if (answer === "discard") return forget(id);
    if (answer !== "retry") return undefined;
    await post("retry", { id, unconfirmed: true });
    return QUEUED_AGAIN;
  }, id);
}

export function discard(letter) {
  const { id, kind, amount: value } = letter;
  const ofAmount = value !== undefined && ` of ${amount(value)}`;
  return attempt(async () => {
    const answer = await ask({
      title: html`Discard ${kind} ${nameOf(letter)}${ofAmount}?`,
      body: html`<p>The service is never told of it, and it cannot be brought back.</p>`,
      answers: [["discard", "Discard"]],
    });
    return answer === "discard" ? forget(id) : undefined;
  }, id);
}

async function forget(id) {
  await post("discard", { id });
  return "It is discarded. Reported again, it is still a duplicate.";
}

export function retryAll(filter) {
  return attempt(async () => {
    const meant = await read("sum", filter);
    if (filter.reason === "unconfirmed") {
      const answer = await ask({
        title: `Send ${countOf(meant.count, "event")} again that the service may have?`,
        body: html`
          <p>Each was sent, and no answer came. Those that arrived count twice when they are sent again.</p>
          <${Sum} ...${meant} />
          <p>Look each of them up in the service’s own dashboard first.</p>
        `,
        answers: [["retry", meant.payments > 0 ? `Send ${amount(meant.amount)} again` : "Send them again"]],
      });
      if (answer !== "retry") return undefined;
    }
    const { count } = await post("retry", { ...wanted(filter), count: meant.count });
    const left = filter.reason === "" ? meant.unconfirmed : 0;
    const stay = left > 0 ? ` ${left} unconfirmed stay: choose that reason to decide.` : "";
    return `${countOf(count, "event")} queued again.${stay}`;
  });
}

export function discardAll(filter) {
  return attempt(async () => {
    const meant = await read("sum", filter);
    const answer = await ask({
      title: `Discard ${countOf(meant.count, "dead letter")}?`,
      body: html`
        <${Sum} ...${meant} />
        <p>The service is never told of them, and they cannot be brought back.</p>
      `,
      answers: [["discard", `Discard ${meant.count.toLocaleString([])}`]],
    });
    if (answer !== "discard") return undefined;
    const { count } = await post("discard", { ...wanted(filter), count: meant.count });
    return `${countOf(count, "dead letter")} discarded.`;
  });
}

function Sum({ payments, amount: value, unconfirmed, count }) {
  const otherEvents = count - payments;
  return html`
    <dl>
      <${Pair} term="Payments">${countOf(payments, "payment")}${payments > 0 && ` of ${amount(value)} in all`}<//>
      ${otherEvents > 0 && html`<${Pair} term="Others">${countOf(otherEvents, "event")}<//>`}
      ${unconfirmed > 0 && html`<${Pair} term="Unconfirmed">${countOf(unconfirmed, "event")} that the service may have<//>`}
    </dl>
  `;
}

function Pair({ term, children }) {
  return html`<div><dt>${term}</dt><dd>${children}</dd></div>`;
}

function wanted(filter) {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ""));
}

/** What the host calls it; a click has only its own id. */
export function nameOf({ paymentId, customerId, clickId }) {
  const name = paymentId ?? customerId ?? clickId;
  return name !== undefined && identifier(name);
}

// A question before something that cannot be taken back.
/**
 * Resolves to the value of the chosen answer, or to "" if the reader cancels. Each of the
 * question's `answers` is `[value, label]`. One more, to cancel, comes first and has the focus.
 */
function ask(question) {
  change({ question });
  const dialog = $("question");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  });
}

export function Question({ question: { title, body, answers } }) {
  return html`
    <dialog id="question" aria-labelledby="question-title">
      <h2 id="question-title">${title}</h2>
      <div id="question-body">${body}</div>
      <form method="dialog" id="answers">
        ${[["", "Cancel"], ...answers].map(
          ([value, label]) =>
            html`<button type="submit" value=${value} key=${`answer ${value}`}>${label}</button>`,
        )}
      </form>
    </dialog>
  `;
}
