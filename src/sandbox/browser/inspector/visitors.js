// The visitors and the faults between them, and the totals of each affiliate.
import { html } from "../../../browser/page.js";
import { amount, foreign, time } from "../../../browser/pieces.js";
import { clickEntry, leadEntry } from "./entries.js";
import { filterBy, more } from "./feed.js";
import { costsOf } from "./service.js";

export function Visitors({ state, asked, filters, isStopped }) {
  const isNarrowed = [asked.search, asked.affiliate, asked.state].some((value) => value !== "");
  const { unlinked, visitors, older } = state ?? {};
  const stream = state ? streamOf(state, isNarrowed) : [];
  const total = state && unlinked.total + visitors.total;
  return html`
    <section aria-labelledby="visitors-title">
      <div class="head">
        <h2 id="visitors-title">Visitors <span id="visitors-count" class="quiet">${total}</span></h2>
        <fieldset disabled=${isStopped}>
          <legend class="unseen">Which visitors</legend>
          <input
            id="search"
            type="search"
            aria-label="Visitor"
            placeholder="visitor, id, address"
            aria-keyshortcuts="/"
            autocomplete="off"
            spellcheck=${false}
            value=${filters.search}
            onInput=${filterBy}
          />
          <${AffiliateFilter} affiliates=${state?.affiliates.shown} chosen=${filters.affiliate} />
          <select id="state" aria-label="State" value=${filters.state} onInput=${filterBy}>
            <option value="">any state</option>
            <option value="not-linked">not linked</option>
            <option value="linked">linked</option>
            <option value="clicked">only clicked</option>
          </select>
        </fieldset>
        <p class="columns" aria-hidden="true">
          <span></span><span>Clicks</span><span>Registrations</span><span>Payments</span>
        </p>
      </div>
      <div id="unlinked-part" hidden=${!unlinked?.total}>
        <h3 class="attention">Not linked <span id="unlinked-count" class="quiet">${unlinked?.total}</span></h3>
        <ol id="unlinked">${unlinked?.shown.map(visitorRow)}</ol>
        <p id="unlinked-more" class="more">${unlinked && more("unlinked", unlinked)}</p>
        <h3 id="others" hidden=${stream.length === 0}>The others</h3>
      </div>
      <ol id="visitors">${total === 0 && noVisitor(isNarrowed)}${stream.map(({ row }) => row)}</ol>
      <p id="visitors-more" class="more">
        ${visitors && more("visitors", visitors)}
        ${older && " Visitors are made of the last 5,000 clicks and leads."}
      </p>
    </section>
  `;
}

/** The visitors, and the faults that were meanwhile, the last first. */
function streamOf({ visitors, faults }, isNarrowed) {
  const isAll = visitors.shown.length === visitors.total;
  const oldest = isAll ? "" : visitors.shown.at(-1).lastAt;
  const marks = isNarrowed ? [] : faults.filter(({ since }) => since > oldest);
  return [
    ...visitors.shown.map((visitor) => ({ at: visitor.lastAt, row: visitorRow(visitor) })),
    ...marks.map((fault) => ({ at: fault.since, row: faultMark(fault) })),
  ].sort((one, other) => (one.at === other.at ? 0 : one.at < other.at ? 1 : -1));
}

function noVisitor(isNarrowed) {
  return isNarrowed
    ? html`<li class="quiet">No visitor is like that.</li>`
    : html`
      <li class="quiet">No visitor yet. Open your app by an affiliate’s link, such as <code>/?ref=ALICE</code>.</li>
    `;
}

function visitorRow({ key, name, clicks, registrations, payments, lastAt }) {
  const id = `visitor-${key}`;
  return html`
    <li class="visitor" key=${id} tabindex="-1" aria-labelledby=${id}>
      <h4 id=${id}>${foreign(name)} ${time(lastAt)}</h4>
      ${step("Clicks", clicks, clickEntry, "no click")}
      ${step("Registrations", registrations, (lead) => leadEntry(lead, name), "not registered")}
      ${step("Payments", payments, (lead) => leadEntry(lead, name), "nothing paid")}
    </li>
  `;
}

function step(title, entries, show, nothing) {
  return html`
    <div role="group" aria-label=${title}>
      ${entries.total > 0 ? entries.shown.map(show) : html`<p class="quiet">${nothing}</p>`}
      <p class="more">${more("entries", entries)}</p>
    </div>
  `;
}

function faultMark(period) {
  const { id, mode, since, until } = period;
  const end = until ? html` to ${time(until)}` : " on";
  return html`
    <li class="mark" key=${`fault-${id}`}><strong>${mode}</strong> from ${time(since)}${end}: ${costsOf(period)}</li>
  `;
}

function AffiliateFilter({ affiliates = [], chosen }) {
  const names = affiliates.map(({ affiliateReference }) => affiliateReference).filter(Boolean);
  if (chosen !== "" && !names.includes(chosen)) names.push(chosen);
  return html`
    <select id="affiliate" aria-label="Affiliate" value=${chosen} onInput=${filterBy}>
      <option value="" dir="auto">any affiliate</option>
      ${names.map((name) => html`<option key=${name} value=${name} dir="auto">${name}</option>`)}
    </select>
  `;
}

export function Affiliates({ affiliates }) {
  const row = ({ affiliateReference, clicks, registrations, payments, value }) => {
    const name =
      affiliateReference === null ? html`<span class="quiet">not linked</span>` : foreign(affiliateReference);
    const numbers = [clicks, registrations, payments].map((number) => number.toLocaleString([]));
    return html`
      <tr key=${`affiliate ${affiliateReference}`}>
        <th scope="row">${name}</th>
        ${[...numbers, amount(value)].map((number) => html`<td>${number}</td>`)}
      </tr>
    `;
  };
  return html`
    <section aria-labelledby="affiliates-title">
      <div class="head"><h2 id="affiliates-title">Affiliates</h2></div>
      <table>
        <thead>
          <tr>
            <th scope="col">Affiliate</th>
            <th scope="col">Clicks</th>
            <th scope="col">Registered</th>
            <th scope="col">Paid</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody id="affiliates">
          ${affiliates?.total === 0 && html`<tr><td colspan="5" class="quiet">None yet.</td></tr>`}
          ${affiliates?.shown.map(row)}
        </tbody>
      </table>
      <p id="affiliates-more" class="more">${affiliates && more("affiliates", affiliates)}</p>
    </section>
  `;
}
