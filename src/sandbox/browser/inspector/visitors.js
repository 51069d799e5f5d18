// The visitors, each a chain of click, registration and payment.
import { html } from "../../../browser/page.js";
import { amount, foreign, mark, time } from "../../../browser/pieces.js";
import { more } from "./view.js";

export function Visitors({ visitors, unlinked }) {
  return html`
    <section aria-labelledby="visitors-title">
      <div class="head">
        <h2 id="visitors-title">
          Visitors${" "}
          <span role="status" class="quiet">
            ${visitors.total}${unlinked > 0 && html`, <span class="lost">${mark("lost")}${unlinked} not linked</span>`}
          </span>
        </h2>
        <p class="columns" aria-hidden="true">
          <span></span><span>Clicks</span><span>Registrations</span><span>Payments</span>
        </p>
      </div>
      <ol id="visitors">
        ${visitors.total === 0 && html`<li class="quiet">No visitor yet. Open your app by an affiliate’s link, such as <code>/?ref=ALICE</code>.</li>`}
        ${visitors.shown.map((visitor) => html`<${Visitor} ...${visitor} id=${visitor.key} key=${visitor.key} />`)}
      </ol>
      ${more(visitors)}
    </section>
  `;
}

function Visitor({ id, name, lastAt, clicks, registrations, payments }) {
  const leads = [...registrations.shown, ...payments.shown];
  const steps = [
    ["Clicks", clicks, "no click"],
    ["Registrations", registrations, "not registered"],
    ["Payments", payments, "nothing paid"],
  ].map(([title, entries, nothing]) => ({ title, entries, nothing, state: stateOf(entries) }));
  return html`
    <li class="visitor" aria-labelledby=${id}>
      <div><h3 id=${id}>${foreign(name)}</h3>${time(lastAt)}${creditOf(leads)}</div>
      ${steps.map(({ title, entries, nothing, state }, nth) => {
        const next = steps.slice(nth + 1).find((later) => later.state !== "none")?.state ?? "none";
        return html`
          <div role="group" aria-label=${title} class=${`step to-${next}`}>
            <span class=${`node ${state}`}>${state !== "none" && mark(state)}</span>
            ${entries.shown.map((entry) => html`<${Entry} ...${entry} visitor=${name} key=${entry.id} />`)}
            ${state === "none" && html`<p class="quiet">${nothing}</p>`}
            ${more(entries)}
          </div>
        `;
      })}
      ${leads.map(({ id, why }) => why && html`<p class="why" key=${id}><strong class="lost">Not linked: </strong>${told(why)}</p>`)}
    </li>
  `;
}

/** The affiliates who get the visitor's registrations and payments. */
function creditOf(leads) {
  if (leads.length === 0) return html`<p class="quiet">only clicked</p>`;
  return [...new Set(leads.map(({ affiliateReference }) => affiliateReference))].map((name) => {
    const state = name === null ? "lost" : "linked";
    return html`<p class=${state} key=${`of ${name}`}>${mark(state)}${name === null ? "no affiliate" : foreign(name)}</p>`;
  });
}

/** `lost`: something in the step is linked to no click. `none`: nothing has happened. */
function stateOf({ shown }) {
  if (shown.length === 0) return "none";
  return shown.some(({ why }) => why) ? "lost" : "linked";
}

const LINKS = {
  clickId: "the click id",
  sessionId: "the session id",
  customerEmail: "the customer’s registration",
};

/** A click, a registration or a payment. */
function Entry(entry) {
  const { kind, at, request, affiliateReference, customerEmail, customerId, linkedThrough, linkedClick } =
    entry;
  const headline =
    kind === "click"
      ? affiliateReference
      : kind === "payment"
        ? amount(entry.leadValue)
        : entry.customerName || customerEmail;
  const address = kind === "click" || [headline, entry.visitor].includes(customerEmail) ? "" : customerEmail;
  return html`
    <div class="entry">
      <p>
        ${foreign(headline, "strong")} ${time(at)}${" "}
        ${request && html`<a href=${`request?id=${request}`} target="request">request ${request}</a>`}
      </p>
      <p class="quiet">
        ${address && html`${foreign(address)} `}
        ${customerId && html`customer ${foreign(customerId, "code")} `}
        ${kind === "click" && entry.clickId && html`click id ${foreign(entry.clickId, "code")} `}
        ${kind === "click" && entry.sessionId && html`session id ${foreign(entry.sessionId, "code")} `}
        ${entry.source && html`from ${foreign(entry.source)}`}
      </p>
      ${entry.clickedUrl && html`<p class="quiet">${foreign(entry.clickedUrl)}</p>`}
      ${linkedThrough && html`<p class="quiet">${foreign(affiliateReference)}, through ${LINKS[linkedThrough]} of click ${linkedClick}</p>`}
      ${entry.why && html`<p class="lost">not linked</p>`}
    </div>
  `;
}

/** Words of the sandbox, then a text that a stranger chose, and so on. */
function told(parts) {
  return parts.map((part, nth) => (nth % 2 === 0 ? part : foreign(part, "code")));
}
