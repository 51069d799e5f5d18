// Who gets the credit: each affiliate's totals, and whether anything was linked to none.
import { change, html } from "../../../browser/page.js";
import { amount, countOf, foreign, mark } from "../../../browser/pieces.js";
import { more } from "./feed.js";

const FEW = 5;

/** Whether all registrations and payments count for an affiliate. */
export function Linking({ affiliates = { shown: [] } }) {
  const isLead = ({ registrations, payments }) => registrations + payments > 0;
  const lost = affiliates.shown.find(({ affiliateReference }) => affiliateReference === null);
  if (lost) return html`<p class="lost">${mark("lost")}Linked to no affiliate: ${leadsIn(lost)}.</p>`;
  return (
    affiliates.shown.some(isLead) &&
    html`<p>${mark("linked")}Every registration and payment is linked to an affiliate.</p>`
  );
}

function leadsIn({ registrations, payments, value }) {
  const registered = registrations > 0 && countOf(registrations, "registration");
  const paid = payments > 0 && `${countOf(payments, "payment")} of ${amount(value)}`;
  return [registered, paid].filter(Boolean).join(" and ");
}

export function Affiliates({ affiliates, areAllAffiliatesShown }) {
  const { shown = [], total } = affiliates ?? {};
  const isShown = ({ affiliateReference }, nth) =>
    areAllAffiliatesShown || nth < FEW || affiliateReference === null;
  const tile = (totals) => {
    const { affiliateReference: name, clicks, registrations, payments, value } = totals;
    const counts = [
      clicks > 0 && countOf(clicks, "click"),
      registrations > 0 && countOf(registrations, "registration"),
      payments > 0 && countOf(payments, "payment"),
    ];
    const state = name === null ? "lost" : registrations + payments > 0 && "linked";
    return html`
      <li key=${`affiliate ${name}`}>
        <span class=${name === null && "lost"}>${state && mark(state)}${name === null ? "no affiliate" : foreign(name)}</span>
        <strong class=${value === 0 && "quiet"}>${amount(value)}</strong>
        <span class="quiet">${counts.filter(Boolean).join(", ")}</span>
      </li>
    `;
  };
  return html`
    <h2 class="unseen">Affiliates</h2>
    <ul id="affiliates" class="tiles">${shown.filter(isShown).map(tile)}</ul>
    <p id="affiliates-more" class="more">
      ${areAllAffiliatesShown && more("affiliates", affiliates)}
      ${
        !areAllAffiliatesShown &&
        shown.length > FEW + 1 &&
        html`
        <button type="button" onClick=${() => change({ areAllAffiliatesShown: true })}>All ${total} affiliates</button>
      `
      }
    </p>
  `;
}
