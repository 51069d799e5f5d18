// The visitors, the faults between them, and the totals of each affiliate.
import { $, amount, foreign, h, more, time } from "./dom.js";
import { clickEntry, leadEntry } from "./entries.js";
import { patch } from "./patch.js";
import { costsOf } from "./service.js";

export function showVisitors({ unlinked, visitors, faults, older }, isFiltered) {
  $("unlinked-part").hidden = unlinked.total === 0;
  patch($("unlinked"), unlinked.shown.map(visitorRow));
  patch($("unlinked-more"), more("unlinked", unlinked));
  patch($("unlinked-count"), String(unlinked.total));

  const isAll = visitors.shown.length === visitors.total;
  const oldest = isAll ? "" : visitors.shown.at(-1).lastAt;
  const marks = isFiltered ? [] : faults.filter(({ since }) => since > oldest);
  const stream = [
    ...visitors.shown.map((visitor) => [visitor.lastAt, visitorRow(visitor)]),
    ...marks.map((fault) => [fault.since, faultMark(fault)]),
  ].sort(([at], [otherAt]) => (at < otherAt ? 1 : -1));
  $("others").hidden = stream.length === 0;
  const isEmpty = unlinked.total + visitors.total === 0;
  patch($("visitors"), isEmpty && emptyRow(isFiltered), ...stream.map(([, row]) => row));
  patch($("visitors-count"), String(unlinked.total + visitors.total));
  patch(
    $("visitors-more"),
    more("visitors", visitors),
    older && " Visitors are made of the last 5,000 clicks and leads.",
  );
}

function emptyRow(isFiltered) {
  return h(
    "li",
    { class: "quiet", "data-key": "empty" },
    isFiltered
      ? "No visitor is like that."
      : "No visitor yet. Open your app by an affiliate’s link, such as ",
    !isFiltered && [code("/?ref=ALICE"), "."],
  );
}

const code = (text) => h("code", {}, text);

function visitorRow({ key, name, clicks, registrations, payments, lastAt }) {
  const id = `visitor-${key}`;
  return h(
    "li",
    { class: "visitor", "data-key": id, tabindex: "-1", "aria-labelledby": id },
    h("h4", { id }, foreign(name), " ", time(lastAt)),
    step("Clicks", clicks, clickEntry, "no click"),
    step("Registrations", registrations, (lead) => leadEntry(lead, name), "not registered"),
    step("Payments", payments, (lead) => leadEntry(lead, name), "nothing paid"),
  );
}

function step(title, entries, show, nothing) {
  return h(
    "div",
    { role: "group", "aria-label": title },
    entries.total > 0 ? entries.shown.map(show) : h("p", { class: "quiet" }, nothing),
    h("p", { class: "more" }, more("entries", entries)),
  );
}

function faultMark(period) {
  const { id, mode, since, until } = period;
  return h(
    "li",
    { class: "mark", "data-key": `fault-${id}` },
    h("strong", {}, mode),
    " from ",
    time(since),
    until ? [" to ", time(until)] : " on",
    `: ${costsOf(period)}`,
  );
}

export function showAffiliates(affiliates) {
  const row = ({ affiliateReference, clicks, registrations, payments, value }) => {
    const name =
      affiliateReference === null ? h("span", { class: "quiet" }, "not linked") : foreign(affiliateReference);
    const numbers = [clicks, registrations, payments].map((number) => number.toLocaleString([]));
    return h(
      "tr",
      { "data-key": `affiliate ${affiliateReference}` },
      h("th", { scope: "row" }, name),
      [...numbers, amount(value)].map((number) => h("td", {}, number)),
    );
  };
  const none = h("tr", {}, h("td", { colspan: 5, class: "quiet" }, "None yet."));
  patch($("affiliates"), affiliates.total > 0 ? affiliates.shown.map(row) : none);
  patch($("affiliates-more"), more("affiliates", affiliates));

  const names = affiliates.shown.map(({ affiliateReference }) => affiliateReference).filter(Boolean);
  const chosen = $("affiliate").value;
  if (chosen !== "" && !names.includes(chosen)) names.push(chosen);
  const option = (value, text) => h("option", { value, "data-key": `option ${value}`, dir: "auto" }, text);
  patch(
    $("affiliate"),
    option("", "any affiliate"),
    names.map((name) => option(name, name)),
  );
}

// ---- for those who listen ----

let lastRead;

/** Says what is new since the last time. */
export function readNews({ unlinked, visitors }) {
  const entries = [...unlinked.shown, ...visitors.shown].flatMap((visitor) =>
    [visitor.clicks, visitor.registrations, visitor.payments]
      .flatMap(({ shown }) => shown)
      .map((entry) => ({ ...entry, visitor })),
  );
  const news = lastRead === undefined ? [] : entries.filter(({ at }) => at > lastRead);
  lastRead = [lastRead ?? "", ...entries.map(({ at }) => at)].sort().at(-1);
  if (news.length === 0) return;
  const line = ({ kind, visitor, affiliateReference }) =>
    h("p", {}, `${kind} of `, foreign(visitor.name), ": ", foreign(affiliateReference ?? "not linked"));
  $("news").replaceChildren(...news.slice(-5).map(line));
}
