import * as z from "zod/mini";
import type { Faults } from "../faults.js";
import type { Click, Lead, RecordedRequest } from "../ledger/entries.js";
import type { LedgerStore } from "../ledger/ledger.js";
import { groupByVisitor, isUnlinked, type Visitor } from "./visitors.js";

/** All that the page shows. It asks for all of it again and again. */
export type InspectorState = ReturnType<typeof stateFor>;

export function stateFor(ledger: LedgerStore, faults: Faults, view: View) {
  const { clicks, leads } = ledger.tables;
  const [recentClicks, recentLeads] = [clicks.latest(MOST), leads.latest(MOST)];
  const matching = groupByVisitor(recentClicks, recentLeads).filter((visitor) => isWanted(visitor, view));
  const show = (visitors: Visitor[], count: number) => ({
    total: visitors.length,
    shown: visitors.slice(0, count).map((visitor) => shownVisitor(ledger, visitor, view.entries)),
  });
  return {
    fault: faults.current(),
    affiliates: affiliatesFor(ledger, view),
    /** The visitors with something that was not linked, and the others; the last first. */
    unlinked: show(matching.filter(isUnlinked), view.unlinked),
    visitors: show(
      matching.filter((visitor) => !isUnlinked(visitor)),
      view.visitors,
    ),
    /** Whether there are entries before the last 5000 clicks or leads, which are in no visitor. */
    older: clicks.count() > MOST || leads.count() > MOST,
    requests: requestsFor(ledger, view),
  };
}

/** The most valuable, and what was linked to no click; with the leads of all. */
function affiliatesFor(ledger: LedgerStore, { affiliates: count }: View) {
  const all = ledger.affiliates();
  const shown = all.filter(({ affiliateReference }, index) => index < count || affiliateReference === null);
  const sum = (of: "registrations" | "payments") => all.reduce((total, totals) => total + totals[of], 0);
  return { total: all.length, shown, registrations: sum("registrations"), payments: sum("payments") };
}

function isWanted({ clicks, registrations, payments }: Visitor, { search }: View): boolean {
  const entries = [...clicks, ...registrations, ...payments];
  return search === "" || entries.some((entry) => has(Object.values(entry), search));
}

/** A visitor with the last of what they did, and with what was not linked. */
function shownVisitor(ledger: LedgerStore, visitor: Visitor, count: number) {
  const { key, name, lastAt, clicks, registrations, payments } = visitor;
  // The request that reported an entry; null: it is no longer kept.
  const request = ledger.tables.requests.thatReported;
  const leads = (all: readonly Lead[]) => {
    const earlier = all.slice(0, -count).filter(({ linkedClick }) => linkedClick === null);
    const shown = [...earlier.slice(-count), ...all.slice(-count)].map((lead) => ({
      ...lead,
      request: request(lead),
      // Why it was not linked; null: it was.
      why: lead.linkedClick === null ? explain(ledger, lead) : null,
    }));
    return { total: all.length, shown };
  };
  return {
    key,
    name,
    lastAt,
    clicks: {
      total: clicks.length,
      shown: clicks.slice(-count).map((click) => ({ ...click, request: request(click) })),
    },
    registrations: leads(registrations),
    payments: leads(payments),
  };
}

/** The last requests, each as a line. `/request?id=` has all of it. */
function requestsFor({ tables: { requests } }: LedgerStore, view: View) {
  const isFiltered = view.containing !== "";
  const matching = isFiltered
    ? requests.latest().filter((request) => isAsked(request, view.containing))
    : requests.latest(view.requests);
  return {
    total: isFiltered ? matching.length : requests.count(),
    shown: matching.slice(0, view.requests).map(({ id, at, method, path, status, ms, fault, replayed }) => {
      return { id, at, method, path, status, ms, fault, replayed };
    }),
  };
}

function isAsked(request: RecordedRequest, text: string): boolean {
  const { method, path, headers, body, status, response } = request;
  const head = Object.entries(headers).map((pair) => pair.join(": "));
  return has([`${method} ${path}`, ...head, body, status ?? "no answer", response], text);
}

function has(values: readonly unknown[], text: string): boolean {
  return values.some((value) =>
    String(value ?? "")
      .toLowerCase()
      .includes(text.toLowerCase()),
  );
}

/**
 * How the nearest click is related to the lead:
 *
 * - `same-click-id`, `same-session`: the id is the same
 * - `number`: the lead carried, as its click id, the number that the service gave this click
 * - `other-id`: the lead carried this click's session id as its click id, or the other way round
 * - `time`: no id is the same; of all clicks before the lead it is the last
 */
type Relation = "same-click-id" | "same-session" | "number" | "other-id" | "time";

/** A session id that is a constant is shared by thousands of customers. */
const NAMED = 3;

/** Why a registration or payment was linked to no click, as far as is known. */
export function explain({ tables }: LedgerStore, lead: Lead) {
  const { clickId, sessionId, customerEmail } = lead;
  const registration = lead.kind === "payment" ? tables.leads.registrationOf(customerEmail) : undefined;
  /** How long after the lead; below zero: before it. */
  const afterMs = (at: string) => Date.parse(at) - Date.parse(lead.at);
  const carries = (field: "clickId" | "sessionId", value: string | null) =>
    value !== null && { field, value };
  const found = nearestClick(tables, lead);
  const describe = ({ id, at, affiliateReference, clickId, sessionId }: Click, relation: Relation) => {
    const customers = tables.leads.customersOf(id);
    const whose = { customers: customers.slice(0, NAMED), otherCustomers: customers.slice(NAMED).length };
    return { id, affiliateReference, clickId, sessionId, relation, afterMs: afterMs(at), ...whose };
  };
  return {
    /** The id that it carried to be linked by; null: none. */
    carried: carries("clickId", clickId) || carries("sessionId", sessionId) || null,
    /** The click that comes nearest to what it should have been linked to; null: there is none. */
    nearest: found && describe(...found),
    /** For a payment: its customer's last registration; null: that customer never registered. */
    registration: registration
      ? { id: registration.id, linked: registration.click !== null, afterMs: afterMs(registration.at) }
      : null,
  };
}

/** The same id first, then an id that was mistaken for another one, then the time. */
function nearestClick({ clicks }: LedgerStore["tables"], lead: Lead): [Click, Relation] | null {
  const { at, clickId, sessionId } = lead;
  const found = (click: Click | undefined, relation: Relation): [Click, Relation] | undefined =>
    click && [click, relation];
  return (
    (clickId !== null && found(clicks.ofClickId(clickId), "same-click-id")) ||
    (sessionId !== null &&
      found(clicks.ofSession(sessionId, at) ?? clicks.firstOfSession(sessionId), "same-session")) ||
    (clickId !== null && /^\d{1,15}$/.test(clickId) && found(clicks.ofNumber(Number(clickId)), "number")) ||
    (clickId !== null && found(clicks.ofSession(clickId), "other-id")) ||
    (sessionId !== null && found(clicks.ofClickId(sessionId), "other-id")) ||
    found(clicks.lastBefore(at), "time") ||
    null
  );
}

/** How much of each list a page gets at most, and how far back visitors are looked for. */
const MOST = 5000;

const text = z.catch(z.string().check(z.maxLength(300)), "");
const count = (usual: number) =>
  z.catch(z.coerce.number().check(z.int(), z.minimum(1), z.maximum(MOST)), usual);

const schema = z.object({
  /** The version that the page has. */
  version: z.catch(z.coerce.number(), 0),
  /** Visitors that have this text in one of their fields. */
  search: text,
  /** Requests that have this text in their head, body, status or answer. */
  containing: text,
  /** How many of each are shown. `entries`: of each visitor. */
  unlinked: count(10),
  visitors: count(100),
  entries: count(20),
  affiliates: count(5),
  requests: count(100),
});

type View = z.output<typeof schema>;

/** The view in an address's query. What is invalid counts as left out. */
export function readView(address: string): View {
  const query = address.includes("?") ? address.slice(address.indexOf("?")) : "";
  return schema.parse(Object.fromEntries(new URLSearchParams(query)));
}
