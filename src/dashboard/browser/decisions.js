// What the reader does to dead letters, with a question before what cannot be taken back.
import { $, amount, countOf, foreign, h, time } from "./elements.js";
import { filter, nameOf, shown } from "./letters.js";
import { patch } from "./patch.js";
import { ask } from "./question.js";
import { post, read } from "./server.js";

const QUEUED_AGAIN = "It is queued again, and is sent behind what its visitor has waiting.";

/** @param onDone called when something was done to them; resolves when the page shows it. */
export function startDecisions(onDone) {
  const actions = { decide, retry, discard };
  let isUnderWay = false;
  $("letters").addEventListener("click", ({ target }) => {
    const { action, id } = target.dataset;
    if (action !== undefined && shown.has(id)) attempt(() => actions[action](shown.get(id)), id);
  });
  $("retry-all").addEventListener("click", () => attempt(retryAll));
  $("discard-all").addEventListener("click", () => attempt(discardAll));

  /** One at a time: does what may be refused, says what came of it, and keeps the focus near where it was. */
  async function attempt(action, id) {
    if (isUnderWay) return;
    const place = [...shown.keys()].indexOf(id);
    patch($("problem"));
    isUnderWay = true;
    try {
      const news = await action();
      if (news === undefined) return;
      patch($("news"), h("p", {}, news));
      patch($("done"), news);
    } catch (error) {
      patch($("problem"), error.message);
    } finally {
      isUnderWay = false;
    }
    await onDone();
    if (document.activeElement !== document.body) return;
    const rows = [...$("letters").querySelectorAll(".letter")];
    const next = rows[Math.min(place, rows.length - 1)]?.querySelector("button") ?? $("letters-title");
    next.focus();
  }
}

async function retry({ id }) {
  await post("retry", { id });
  return QUEUED_AGAIN;
}

/** The service may have it. */
async function decide(letter) {
  const { id, kind, amount: value, email, createdAt, diedAt, code, status } = letter;
  const what = [`${kind} `, nameOf(letter), value !== undefined && ` of ${amount(value)}`];
  const answer = await ask({
    title: ["Did the service get ", what, "?"],
    body: [
      h(
        "p",
        {},
        "It was sent, and no answer came",
        (code ?? status) !== undefined && [" (", foreign(code ?? status), ")"],
        ". Sent again, it may count twice",
        kind === "payment" && ", and be paid out twice",
        ".",
      ),
      h("p", {}, "Look in the service’s own dashboard for:"),
      h(
        "dl",
        {},
        pair("Customer", email === undefined ? "unknown" : foreign(email)),
        value !== undefined && pair("Amount", amount(value)),
        pair("Between", time(createdAt), " and ", time(diedAt)),
      ),
      kind === "payment" &&
        h(
          "p",
          { class: "quiet" },
          "The service does not know your payment id. Your own records have the full address under it.",
        ),
    ],
    answers: [
      ["discard", "It is there: discard"],
      ["retry", value === undefined ? "It is not: send it again" : `It is not: send ${amount(value)} again`],
    ],
  });
  if (answer === "discard") return forget(id);
  if (answer !== "retry") return undefined;
  await post("retry", { id, unconfirmed: true });
  return QUEUED_AGAIN;
}

async function discard(letter) {
  const { id, kind, amount: value } = letter;
  const answer = await ask({
    title: [`Discard ${kind} `, nameOf(letter), value !== undefined && ` of ${amount(value)}`, "?"],
    body: h("p", {}, "The service is never told of it, and it cannot be brought back."),
    answers: [["discard", "Discard"]],
  });
  return answer === "discard" ? forget(id) : undefined;
}

async function forget(id) {
  await post("discard", { id });
  return "It is discarded. Reported again, it is still a duplicate.";
}

async function retryAll() {
  const chosen = filter();
  const meant = await read("sum", chosen);
  if (chosen.reason === "unconfirmed") {
    const answer = await ask({
      title: `Send ${countOf(meant.count, "event")} again that the service may have?`,
      body: [
        h(
          "p",
          {},
          "Each was sent, and no answer came. Those that arrived count twice when they are sent again.",
        ),
        h("dl", {}, contentsOf(meant)),
        h("p", {}, "Look each of them up in the service’s own dashboard first."),
      ],
      answers: [["retry", meant.payments > 0 ? `Send ${amount(meant.amount)} again` : "Send them again"]],
    });
    if (answer !== "retry") return undefined;
  }
  const { retried } = await post("retry", { ...wanted(chosen), count: meant.count });
  const left = chosen.reason === "" ? meant.unconfirmed : 0;
  const stay = left > 0 ? ` ${left} unconfirmed stay: choose that reason to decide.` : "";
  return `${countOf(retried, "event")} queued again.${stay}`;
}

async function discardAll() {
  const chosen = filter();
  const meant = await read("sum", chosen);
  const answer = await ask({
    title: `Discard ${countOf(meant.count, "dead letter")}?`,
    body: [
      h("dl", {}, contentsOf(meant)),
      h("p", {}, "The service is never told of them, and they cannot be brought back."),
    ],
    answers: [["discard", `Discard ${meant.count.toLocaleString([])}`]],
  });
  if (answer !== "discard") return undefined;
  const { discarded } = await post("discard", { ...wanted(chosen), count: meant.count });
  return `${countOf(discarded, "dead letter")} discarded.`;
}

function contentsOf({ payments, amount: value, unconfirmed, count }) {
  return [
    pair("Payments", countOf(payments, "payment"), payments > 0 && ` of ${amount(value)} in all`),
    count > payments && pair("Others", countOf(count - payments, "event")),
    unconfirmed > 0 && pair("Unconfirmed", countOf(unconfirmed, "event"), " that the service may have"),
  ];
}

function pair(term, ...values) {
  return h("div", {}, h("dt", {}, term), h("dd", {}, values));
}

function wanted(chosen) {
  return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== ""));
}
