// Who gets the credit: each affiliate's totals, and whether anything was linked to none.
import { html } from "../../../browser/page.js";
import { amount, countOf, foreign, mark } from "../../../browser/pieces.js";
import { more } from "./feed.js";

/** Whether all registrations and payments count for an affiliate. A screen reader reads each change of it. */
export function Linking({ affiliates = { shown: [] } }) {
  const lost = affiliates.shown.find(({ affiliateReference }) => affiliateReference === null);
  if (lost) return html`<p class="lost">${mark("lost")}Linked to no affiliate: ${countsIn(lost)}.</p>`;
  const leads = countsIn(affiliates);
  return leads && html`<p>${mark("linked")}All linked: ${leads}.</p>`;
}

function countsIn({ clicks, registrations, payments }) {
  const counts = Object.entries({ click: clicks, registration: registrations, payment: payments });
  return counts.flatMap(([noun, count]) => (count > 0 ? countOf(count, noun) : [])).join(", ");
}

export function Affiliates({ affiliates = { shown: [], total: 0 } }) {
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
  return html`
    <h2 class="unseen">Affiliates</h2>
    <ul id="affiliates" class="tiles">${affiliates.shown.map(tile)}</ul>
    <p class="more">${more("affiliates", affiliates)}</p>
  `;
}
