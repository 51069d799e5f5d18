// The dead letters as the reader has chosen them.
import { $, amount, countOf, foreign, h, time } from "./elements.js";
import { patch } from "./patch.js";
import { Forbidden, read } from "./server.js";

const FEW = 50;
const MANY = 1_000;
let limit = FEW;

/** Those that are shown, by their id. */
export const shown = new Map();

/** Which dead letters the reader has chosen: "" means any. */
export function filter() {
  return { kind: $("kind").value, reason: $("reason").value };
}

/** @param onChange called when the reader has chosen others. */
export function startLetters(onChange) {
  for (const name of ["kind", "reason"]) {
    $(name).addEventListener("change", () => {
      limit = FEW;
      onChange();
    });
  }
  $("summary").addEventListener("click", ({ target }) => {
    if (target.dataset.reason === undefined) return;
    $("kind").value = "";
    $("reason").value = target.dataset.reason;
    $("reason").dispatchEvent(new Event("change"));
  });
  $("more").addEventListener("click", () => {
    limit = MANY;
    onChange();
  });
}

/** Reads the dead letters and shows them, or why they cannot be read. `dead`: how many there are in all, by reason. */
export async function readLetters(dead) {
  try {
    show(await read("dead-letters", { ...filter(), limit }), dead);
    return true;
  } catch (error) {
    if (error instanceof Forbidden) throw error;
    patch($("letters-count"), h("span", { class: "attention" }, error.message));
    return false;
  }
}

function show({ letters, more }, dead) {
  shown.clear();
  for (const letter of letters) shown.set(letter.id, letter);
  const hasDestinations = new Set(letters.map(({ destination }) => destination)).size > 1;
  patch(
    $("letters"),
    letters.length > 0
      ? letters.map((letter) => rowOf(letter, hasDestinations))
      : h("li", { class: "quiet" }, isNarrowed() ? "None is like that." : "None."),
  );
  $("retry-all").textContent = `Retry ${nameOfAll()}${filter().reason === "unconfirmed" ? "…" : ""}`;
  $("discard-all").textContent = `Discard ${nameOfAll()}…`;
  for (const id of ["retry-all", "discard-all"]) $(id).hidden = letters.length === 0;
  $("more").hidden = !more || limit === MANY;
  patch($("letters-count"), more && `The oldest ${letters.length}${totalOf(dead)}.`);
}

function isNarrowed() {
  return Object.values(filter()).some((value) => value !== "");
}

/** `all`, `all unconfirmed payments`. */
function nameOfAll() {
  const { kind, reason } = filter();
  return isNarrowed() ? `all ${reason} ${kind || "event"}s`.replace("  ", " ") : "all";
}

/** Their number is known by reason, not by kind. */
function totalOf(dead) {
  const { kind, reason } = filter();
  if (kind !== "") return "; there are more";
  const counts = reason === "" ? Object.values(dead) : [dead[reason]];
  return ` of ${counts.reduce((sum, count) => sum + count, 0).toLocaleString([])}`;
}

function rowOf(letter, hasDestinations) {
  const { id, kind, reason, attempts, status, code, message, createdAt, diedAt, destination } = letter;
  const answer = [status, code].filter(Boolean).join(" ");
  return h(
    "li",
    { class: "letter", "data-key": id },
    h(
      "div",
      { id: `what-${id}` },
      h("p", {}, h("strong", {}, kind), " ", nameOf(letter)),
      h("p", {}, detailsOf(letter)),
    ),
    h(
      "div",
      {},
      h(
        "p",
        {},
        h("strong", { class: reason === "unconfirmed" && "attention" }, reason),
        [answer, message].some(Boolean) && ": ",
        foreign([answer, message].filter(Boolean).join(", ")),
      ),
      h(
        "p",
        { class: "quiet" },
        "happened ",
        time(createdAt),
        ", given up ",
        time(diedAt),
        ` after ${countOf(attempts, "attempt")}`,
        hasDestinations && [", for ", foreign(destination)],
      ),
    ),
    h(
      "fieldset",
      {},
      h("legend", { class: "unseen" }, "What to do with it"),
      isUndecided(letter)
        ? buttonFor(id, "decide", "Decide…")
        : [!letter.unreadable && buttonFor(id, "retry", "Retry"), buttonFor(id, "discard", "Discard…")],
    ),
  );
}

/** Whether the service may have it. */
function isUndecided({ reason }) {
  return reason === "unconfirmed";
}

function buttonFor(id, action, label) {
  const data = { "data-key": action, "data-action": action, "data-id": id };
  return h("button", { type: "button", "aria-describedby": `what-${id}`, ...data }, label);
}

/** What the host calls it; a click has only its own id. */
export function nameOf({ paymentId, customerId, clickId }) {
  const name = paymentId ?? customerId ?? clickId;
  return name === undefined ? [] : foreign(name, "code");
}

function detailsOf({ amount: value, email, affiliate, unreadable }) {
  return [
    unreadable &&
      h("span", { class: "attention" }, "what is stored of it cannot be read: it can be discarded"),
    value !== undefined && [h("span", { class: "amount" }, amount(value)), " of "],
    email !== undefined && foreign(email),
    affiliate !== undefined && ["through ", foreign(affiliate)],
  ];
}
