// One click, registration or payment, and why it was linked to no click.
import { amount, foreign, h, span, time } from "./dom.js";

const links = {
  clickId: "the click id",
  sessionId: "the session id",
  customerEmail: "the customer’s registration",
};

const reasons = {
  "no-click-with-this-click-id": "no click with this click id",
  "no-click-with-this-session-id": "no click with this session id",
  "no-session-id": "no session id",
  "click-came-after": "the click came after it",
  "another-visitors-click": "the session’s click is another visitor’s",
};

const fields = { clickId: "click id", sessionId: "session id" };

export function clickEntry(click) {
  return h(
    "div",
    { class: "entry", "data-key": `click-${click.id}` },
    h("p", {}, foreign(click.affiliateReference, "strong"), " ", time(click.at), " ", requestLink(click)),
    h(
      "p",
      { class: "quiet" },
      Object.entries(fields).map(([field, name]) => click[field] && [`${name} `, code(click[field]), " "]),
      click.source && ["from ", foreign(click.source)],
    ),
    click.clickedUrl && h("p", { class: "quiet" }, foreign(click.clickedUrl)),
  );
}

export function leadEntry(lead, visitor) {
  const isPayment = lead.kind === "payment";
  const headline = isPayment ? amount(lead.leadValue) : lead.customerName || lead.customerEmail;
  return h(
    "div",
    { class: "entry", "data-key": `lead-${lead.id}` },
    h("p", {}, foreign(headline, "strong"), " ", time(lead.at), " ", requestLink(lead)),
    h(
      "p",
      { class: "quiet" },
      ![headline, visitor].includes(lead.customerEmail) && [foreign(lead.customerEmail), " "],
      lead.customerId && ["customer ", foreign(lead.customerId)],
    ),
    lead.why
      ? why(lead)
      : h(
          "p",
          { class: "quiet" },
          foreign(lead.affiliateReference),
          `, through ${links[lead.linkedThrough]} of click ${lead.linkedClick}`,
        ),
  );
}

function why(lead) {
  const { carried, nearest, registration } = lead.why;
  return h(
    "p",
    {},
    h("strong", { class: "attention" }, `Not linked: ${reasons[lead.notLinked]}. `),
    carried ? [`It carried the ${fields[carried.field]} `, code(carried.value), ". "] : "It carried no id. ",
    nearest ? nearestClick(nearest, carried) : "No click came before it. ",
    lead.kind === "payment" && [foreign(lead.customerEmail), ` ${registered(registration)}`],
  );
}

function nearestClick(click, carried) {
  const { relation, afterMs } = click;
  const name = [`click ${click.id} (`, foreign(click.affiliateReference), ")"];
  const when = `${span(Math.abs(afterMs))} ${afterMs > 0 ? "after" : "before"} it`;
  const customers = click.customers.map((customer, index) => [index > 0 && ", ", foreign(customer)]);
  const whose = customers.length > 0 && ["; ", customers, " registered through it"];
  if (relation === "same-click-id" || relation === "same-session")
    return ["The same id has ", name, ", which came ", when, whose, ". "];
  if (relation === "number")
    return [
      "That is the number that the service gave ",
      name,
      click.clickId && ["; its click id is ", code(click.clickId)],
      ". ",
    ];
  if (relation === "other-id")
    return [`That is the ${carried.field === "clickId" ? "session id" : "click id"} of `, name, ". "];
  const field = carried?.field ?? "sessionId";
  const id = click[field] && [`, with the ${fields[field]} `, code(click[field])];
  return ["The nearest is ", name, `, ${when}`, id, whose, ". "];
}

function registered(registration) {
  if (!registration) return "never registered.";
  const { id, linked, afterMs } = registration;
  if (!linked) return `registered (lead ${id}), and that was linked to no click either.`;
  return `registered (lead ${id}) ${afterMs > 0 ? `${span(afterMs)} after it` : "before it"}.`;
}

const code = (text) => foreign(text, "code");

function requestLink({ request }) {
  return request && h("a", { href: `#request-${request}` }, `request ${request}`);
}
