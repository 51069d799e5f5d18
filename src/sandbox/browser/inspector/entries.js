// One click, registration or payment, and why it was linked to no click.
import { html } from "../../../browser/page.js";
import { amount, countOf, foreign, identifier, span, time } from "../../../browser/pieces.js";

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
  const { id, at, affiliateReference, source, clickedUrl } = click;
  return html`
    <div class="entry" key=${id}>
      <p>${foreign(affiliateReference, "strong")} ${time(at)} ${requestLink(click)}</p>
      <p class="quiet">
        ${Object.entries(fields).map(([field, name]) => click[field] && html`${name} ${identifier(click[field])} `)}
        ${source && html`from ${foreign(source)}`}
      </p>
      ${clickedUrl && html`<p class="quiet">${foreign(clickedUrl)}</p>`}
    </div>
  `;
}

export function leadEntry(lead, visitor) {
  const { id, at, customerEmail, customerId, why } = lead;
  const headline = headlineOf(lead);
  return html`
    <div class="entry" key=${id}>
      <p>${foreign(headline, "strong")} ${time(at)} ${requestLink(lead)}</p>
      <p class="quiet">
        ${![headline, visitor].includes(customerEmail) && html`${foreign(customerEmail)} `}
        ${customerId && html`customer ${identifier(customerId)}`}
      </p>
      ${why ? html`<p class="lost">not linked</p>` : linked(lead)}
    </div>
  `;
}

function headlineOf({ kind, leadValue, customerName, customerEmail }) {
  return kind === "payment" ? amount(leadValue) : customerName || customerEmail;
}

function linked({ affiliateReference, linkedThrough, linkedClick }) {
  const through = `through ${links[linkedThrough]} of click ${linkedClick}`;
  return html`<p class="quiet">${foreign(affiliateReference)}, ${through}</p>`;
}

/** Why a lead is linked to no click. If there are several, each says first which one it is. */
export function whyNotLinked(lead, _nth, { length }) {
  const { id, kind, customerEmail, notLinked, why } = lead;
  const { carried, nearest, registration } = why;
  return html`
    <p class="why" key=${`why-${id}`}>
      ${length > 1 && html`${foreign(headlineOf(lead))}: `}
      <strong class="lost">Not linked: ${reasons[notLinked]}. </strong>
      ${carried ? html`It carried the ${fields[carried.field]} ${identifier(carried.value)}. ` : "It carried no id. "}
      ${nearest ? nearestClick(nearest, carried) : "No click came before it. "}
      ${kind === "payment" && html`${foreign(customerEmail)} ${registered(registration)}`}
    </p>
  `;
}

function nearestClick(click, carried) {
  const { id, relation, afterMs, affiliateReference, clickId } = click;
  const name = html`click ${id} (${foreign(affiliateReference)})`;
  const when = `${span(Math.abs(afterMs))} ${afterMs > 0 ? "after" : "before"} it`;
  const customers = click.customers.map((customer, index) => [index > 0 && ", ", foreign(customer)]);
  const others = click.otherCustomers > 0 && ` and ${countOf(click.otherCustomers, "other")}`;
  const whose = customers.length > 0 && html`; ${customers}${others} registered through it`;
  if (relation === "same-click-id" || relation === "same-session")
    return html`The same id has ${name}, which came ${when}${whose}. `;
  if (relation === "number") {
    const its = clickId && html`; its click id is ${identifier(clickId)}`;
    return html`That is the number that the service gave ${name}${its}. `;
  }
  if (relation === "other-id")
    return html`That is the ${carried.field === "clickId" ? "session id" : "click id"} of ${name}. `;
  const field = carried?.field ?? "sessionId";
  const its = click[field] && html`, with the ${fields[field]} ${identifier(click[field])}`;
  return html`The nearest is ${name}, ${when}${its}${whose}. `;
}

function registered(registration) {
  if (!registration) return "never registered.";
  const { id, linked, afterMs } = registration;
  if (!linked) return `registered (lead ${id}), and that was linked to no click either.`;
  return `registered (lead ${id}) ${afterMs > 0 ? `${span(afterMs)} after it` : "before it"}.`;
}

function requestLink({ request }) {
  return request && html`<a href=${`#request-${request}`}>request ${request}</a>`;
}
