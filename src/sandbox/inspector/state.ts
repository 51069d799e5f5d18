import type { Faults } from "../faults.js";
import type { Lead, RecordedRequest } from "../ledger/entries.js";
import type { LedgerStore } from "../ledger/ledger.js";
import { explain } from "./explanation.js";
import { MOST, type View } from "./view.js";
import { groupByVisitor, stateOf, type Visitor } from "./visitors.js";

/** All that the page shows. It gets all of it with every change. */
export type InspectorState = ReturnType<typeof stateFor>;

const SHOWN_FAULTS = 20;

export function stateFor(ledger: LedgerStore, faults: Faults, view: View) {
  const { clicks, leads, faults: periods } = ledger.tables;
  const [recentClicks, recentLeads] = [clicks.latest(MOST), leads.latest(MOST)];
  const matching = groupByVisitor(recentClicks, recentLeads).filter((visitor) => isWanted(visitor, view));
  const isUnlinked = (visitor: Visitor) => stateOf(visitor) === "not-linked";
  const show = (visitors: Visitor[], count: number) => ({
    total: visitors.length,
    shown: visitors.slice(0, count).map((visitor) => shownVisitor(ledger, visitor, view.entries)),
  });
  return {
    fault: faults.current(),
    /** When the service had which fault, the last first; the fault in force among them. */
    faults: periods.latest(SHOWN_FAULTS),
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

/** The most valuable, and what was linked to no click. */
function affiliatesFor(ledger: LedgerStore, { affiliates: count }: View) {
  const all = ledger.affiliates();
  const shown = all.filter(({ affiliateReference }, index) => index < count || affiliateReference === null);
  return { total: all.length, shown };
}

function isWanted(visitor: Visitor, { search, affiliate, state }: View): boolean {
  if (state !== "" && stateOf(visitor) !== state) return false;
  const entries = [...visitor.clicks, ...visitor.registrations, ...visitor.payments];
  if (affiliate !== "" && !entries.some(({ affiliateReference }) => affiliateReference === affiliate))
    return false;
  return search === "" || entries.some((entry) => has(Object.values(entry), search));
}

/** A visitor with the last of what they did, and with what was not linked. */
function shownVisitor(ledger: LedgerStore, visitor: Visitor, count: number) {
  const { key, name, lastAt, clicks, registrations, payments } = visitor;
  // The request that reported an entry; null: it is no longer kept.
  const request = ledger.tables.requests.thatReported;
  const leads = (all: readonly Lead[]) => {
    const unlinked = all.filter(({ linkedClick }) => linkedClick === null);
    const chosen = new Set([...unlinked.slice(-count), ...all.slice(-count)]);
    const shown = all
      .filter((lead) => chosen.has(lead))
      .map((lead) => ({
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
  const isFiltered = view.containing !== "" || view.answered !== "";
  const matching = isFiltered
    ? requests.latest().filter((request) => isAsked(request, view))
    : requests.latest(view.requests);
  return {
    total: isFiltered ? matching.length : requests.count(),
    shown: matching.slice(0, view.requests).map(({ id, at, method, path, status, ms, fault, replayed }) => {
      return { id, at, method, path, status, ms, fault, replayed };
    }),
  };
}

function isAsked(request: RecordedRequest, { containing, answered }: View): boolean {
  const { method, path, headers, body, status, response } = request;
  if (!String(status ?? "none").startsWith(answered)) return false;
  const head = Object.entries(headers).map((pair) => pair.join(": "));
  return containing === "" || has([`${method} ${path}`, ...head, body, response], containing);
}

function has(values: readonly unknown[], text: string): boolean {
  return values.some((value) =>
    String(value ?? "")
      .toLowerCase()
      .includes(text.toLowerCase()),
  );
}
