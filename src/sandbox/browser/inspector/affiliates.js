// Who gets the credit: each affiliate's totals, and whether anything was linked to none.
import { change, html } from "../../../browser/page.js";
import { amount, countOf, foreign, mark } from "../../../browser/pieces.js";
import { more } from "./feed.js";

const FEW = 5;

/** Whether all registrations and payments count for an affiliate. */
export function Linking({ affiliates = { shown: [] } }) {
  const isLead = ({ registrations, payments }) => registrations + payments > 0;
  const lost = affiliates.shown.find(({ affiliateReference }) => affiliateReference === null);
  if (lost) return html`<p class="lost">${mark("lost")}Linked to no affiliate: ${countsIn(lost)}.</p>`;
  if (!affiliates.shown.some(isLead)) return null;
  return html`<p>${mark("linked")}Every registration and payment is linked to an affiliate.</p>`;
}

function countsIn({ clicks, registrations, payments }) {
  const counts = Object.entries({ click: clicks, registration: registrations, payment: payments });
  return counts.flatMap(([noun, count]) => (count > 0 ? countOf(count, noun) : [])).join(", ");
}

export function Affiliates({ affiliates, areAllAffiliatesShown }) {
  const { shown = [], total } = affiliates ?? {};
  const isShown = ({ affiliateReference }, nth) =>
    areAllAffiliatesShown || nth < FEW || affiliateReference === null;
  const tile = (totals) => {
    const { affiliateReference: name, registrations, payments, value } = totals;
    const state = name === null ? "lost" : registrations + payments > 0 && "linked";
    return html`
      <li key=${`affiliate ${name}`}>
        <span class=${name === null && "lost"}>${state && mark(state)}${name === null ? "no affiliate" : foreign(name)}</span>
        <strong class=${value === 0 && "quiet"}>${amount(value)}</strong>
        <span class="quiet">${countsIn(totals)}</span>
      </li>
    `;
  };
  const showAll = () => change({ areAllAffiliatesShown: true });
  const all = html`<button type="button" onClick=${showAll}>All ${total} affiliates</button>`;
  return html`
    <h2 class="unseen">Affiliates</h2>
    <ul id="affiliates" class="tiles">${shown.filter(isShown).map(tile)}</ul>
    <p id="affiliates-more" class="more">
      ${areAllAffiliatesShown ? more("affiliates", affiliates) : shown.length > FEW + 1 && all}
    </p>
  `;
}
