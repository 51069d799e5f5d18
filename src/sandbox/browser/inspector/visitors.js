// The visitors, each a chain of click, registration and payment.
import { html } from "../../../browser/page.js";
import { foreign, mark, time } from "../../../browser/pieces.js";
import { clickEntry, leadEntry, whyNotLinked } from "./entries.js";
import { more, Search } from "./feed.js";

export function Visitors({ state, asked, filters, isStopped }) {
  const { unlinked, visitors, older } = state ?? {};
  const total = state && unlinked.total + visitors.total;
  return html`
    <section aria-labelledby="visitors-title">
      <div class="head">
        <h2 id="visitors-title">Visitors <span id="visitors-count" class="quiet" role="status">${total}</span></h2>
        <${Search} id="search" label="Visitor" placeholder="visitor, id, affiliate" ...${{ filters, isStopped }} />
        <p class="columns" aria-hidden="true">
          <span></span><span>Clicks</span><span>Registrations</span><span>Payments</span>
        </p>
      </div>
      <div hidden=${!unlinked?.total}>
        <h3 class="lost">${mark("lost")}Not linked <span class="quiet">${unlinked?.total}</span></h3>
        <ol id="unlinked">${unlinked?.shown.map(visitorRow)}</ol>
        <p class="more">${unlinked && more("unlinked", unlinked)}</p>
        <h3 id="others" hidden=${!visitors?.total}>The others</h3>
      </div>
      <ol id="visitors">${total === 0 && noVisitor(asked.search)}${visitors?.shown.map(visitorRow)}</ol>
      <p class="more">
        ${visitors && more("visitors", visitors)}
        ${older && " Visitors are made of the last 5,000 clicks and leads."}
      </p>
    </section>
  `;
}

function noVisitor(search) {
  return search
    ? html`<li class="quiet">No visitor is like that.</li>`
    : html`
      <li class="quiet">No visitor yet. Open your app by an affiliate’s link, such as <code>/?ref=ALICE</code>.</li>
    `;
}

function visitorRow(visitor) {
  const { key, name, clicks, registrations, payments, lastAt } = visitor;
  const id = `visitor-${key}`;
  const leads = [...registrations.shown, ...payments.shown];
  const unlinked = leads.filter(({ why }) => why);
  const entryOf = (lead) => leadEntry(lead, name);
  const steps = [
    ["Clicks", clicks, clickEntry, "no click"],
    ["Registrations", registrations, entryOf, "not registered"],
    ["Payments", payments, entryOf, "nothing paid"],
  ].map((step) => [stateOf(step[1]), ...step]);
  return html`
    <li class="visitor" key=${id} aria-labelledby=${id}>
      <div><h4 id=${id}>${foreign(name)} ${time(lastAt)}</h4>${creditOf(leads)}</div>
      ${steps.map((step, nth) => chainStep(step, steps.slice(nth + 1)))}
      ${unlinked.map(whyNotLinked)}
    </li>
  `;
}

function creditOf(leads) {
  if (leads.length === 0) return html`<p class="quiet">only clicked</p>`;
  return [...new Set(leads.map(({ affiliateReference, why }) => (why ? null : affiliateReference)))].map(
    (name) =>
      name === null
        ? html`<p class="lost" key="none">${mark("lost")}no affiliate</p>`
        : html`<p class="linked" key=${`of ${name}`}>${mark("linked")}${foreign(name)}</p>`,
  );
}

/** `lost`: something in the step is linked to no click. `none`: nothing has happened. */
function stateOf({ shown }) {
  if (shown.length === 0) return "none";
  return shown.some(({ why }) => why) ? "lost" : "linked";
}

/** A step, and the line to the next one that has happened. */
function chainStep([state, title, entries, show, nothing], later) {
  const next = later.map(([state]) => state).find((state) => state !== "none") ?? "none";
  return html`
    <div role="group" aria-label=${title} class=${`step to-${next}`}>
      <span class=${`node ${state}`}>${state !== "none" && mark(state)}</span>
      ${entries.total > 0 ? entries.shown.map(show) : html`<p class="quiet">${nothing}</p>`}
      <p class="more">${more("entries", entries)}</p>
    </div>
  `;
}
