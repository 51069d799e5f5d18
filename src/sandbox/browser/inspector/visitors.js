// The totals by affiliate, and each visitor's click → registration → payment.
import { $, amount, h, time } from "./dom.js";

const reasons = {
  "no-click-with-this-click-id": "no click with this click id",
  "no-click-with-this-session-id": "no click with this session id",
  "no-session-id": "it came without a session id, and its customer registered through no click",
  "click-came-after": "the click came after it",
  "another-visitors-click": "the session's click is another visitor's",
};

const links = {
  clickId: "the click id",
  sessionId: "the session id",
  customerEmail: "the customer's registration",
};

export function showAffiliates(affiliates) {
  const rows = affiliates.map(({ affiliateReference, clicks, registrations, payments, value }) => {
    const nobody = affiliateReference === null;
    const name = h(
      "th",
      { scope: "row", className: nobody ? "nobody" : "" },
      nobody ? "linked to nobody" : affiliateReference,
    );
    const numbers = [clicks, registrations, payments, amount(value)].map((number) =>
      h("td", {}, String(number)),
    );
    return h("tr", {}, name, numbers);
  });
  const none = h("tr", {}, h("td", { colSpan: 5, className: "quiet" }, "None yet."));
  $("affiliates").replaceChildren(...(rows.length > 0 ? rows : [none]));
}

export function showVisitors(visitors) {
  const rows = visitors.map(({ clicks, registrations, payments, lastAt }) => {
    const isFresh = Date.now() - Date.parse(lastAt) < 2000;
    return h(
      "li",
      { className: isFresh ? "visitor fresh" : "visitor" },
      step("Click", clicks.map(clickEntry), "no click"),
      step("Registration", registrations.map(leadEntry), "not registered"),
      step("Payment", payments.map(leadEntry), "nothing paid"),
    );
  });
  const none = h(
    "li",
    { className: "empty" },
    "Nobody yet. Open your app through an affiliate's link, such as /?ref=ALICE.",
  );
  $("visitors").replaceChildren(...(rows.length > 0 ? rows : [none]));
}

function step(title, entries, nothing) {
  return h(
    "div",
    { className: "step" },
    h("h3", {}, title),
    entries.length > 0 ? entries : h("p", { className: "quiet" }, nothing),
  );
}

function clickEntry(click) {
  const ids = [
    `#${click.id}`,
    click.clickId && `click ${click.clickId}`,
    click.sessionId && `session ${click.sessionId}`,
  ];
  return h(
    "div",
    { className: "entry" },
    h("p", {}, h("strong", {}, click.affiliateReference), time(click.at)),
    h(
      "p",
      { className: "quiet" },
      [...ids, click.source && `from ${click.source}`].filter(Boolean).join(" · "),
    ),
    click.clickedUrl && h("p", { className: "quiet" }, click.clickedUrl),
  );
}

function leadEntry(lead) {
  const isPayment = lead.kind === "payment";
  const headline = isPayment ? amount(lead.leadValue) : (lead.customerName ?? lead.customerEmail);
  const details = [
    `#${lead.id}`,
    lead.customerEmail !== headline && lead.customerEmail,
    lead.customerId && `customer ${lead.customerId}`,
  ];
  const tag = lead.linkedClick
    ? h("p", { className: "tag good" }, `${lead.affiliateReference}, through ${links[lead.linkedThrough]}`)
    : h("p", { className: "tag" }, `not linked: ${reasons[lead.notLinked]}`);
  return h(
    "div",
    { className: "entry" },
    h("p", {}, h("strong", {}, headline), time(lead.at)),
    h("p", { className: "quiet" }, details.filter(Boolean).join(" · ")),
    tag,
  );
}

// ---- for those who listen ----

let lastRead;

/** Says what is new since the last time. */
export function readNews(visitors) {
  const entries = visitors.flatMap(({ clicks, registrations, payments }) => [
    ...clicks,
    ...registrations,
    ...payments,
  ]);
  const news = lastRead === undefined ? [] : entries.filter(({ at }) => at > lastRead);
  lastRead =
    entries
      .map(({ at }) => at)
      .sort()
      .at(-1) ??
    lastRead ??
    "";
  $("news").replaceChildren(
    ...news.map(({ kind, affiliateReference }) =>
      h("p", {}, `${kind}: ${affiliateReference ?? "linked to nobody"}`),
    ),
  );
}
