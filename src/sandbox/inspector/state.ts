import type { Fault, Faults } from "../faults.js";
import type { AffiliateTotals } from "../ledger/affiliates.js";
import type { Click, Lead, RecordedRequest } from "../ledger/entries.js";
import type { FaultPeriod } from "../ledger/faults.js";
import type { LedgerStore } from "../ledger/ledger.js";
import { type Explanation, explain } from "./explanation.js";
import { MOST, type View } from "./view.js";
import { groupByVisitor, stateOf, type Visitor } from "./visitors.js";

/** The part of a list that is shown. */
export interface Part<T> {
  readonly total: number;
  readonly shown: readonly T[];
}

/** `request` is the id of the request that reported it; null: it is kept no more. */
export type ShownClick = Click & { readonly request: number | null };
/** `why` says what is known of one that was not linked; null: it was. */
export type ShownLead = Lead & { readonly request: number | null; readonly why: Explanation | null };
/** A visitor with the last of what they did, and with what was not linked. */
export interface ShownVisitor extends Pick<Visitor, "key" | "name" | "lastAt"> {
  readonly clicks: Part<ShownClick>;
  readonly registrations: Part<ShownLead>;
  readonly payments: Part<ShownLead>;
}

/** A request in the list; all of it is at `/request?id=`. */
export type RequestLine = Pick<
  RecordedRequest,
  "id" | "at" | "method" | "path" | "status" | "ms" | "fault" | "replayed"
>;

/** All that the page shows and that changes. It gets the whole anew whenever something has changed. */
export interface InspectorState {
  readonly fault: Fault;
  /** When the service had which fault, the last first; the fault in force among them. */
  readonly faults: readonly FaultPeriod[];
  readonly affiliates: Part<AffiliateTotals>;
  /** The visitors with something that was not linked, and the others; the last first. */
  readonly unlinked: Part<ShownVisitor>;
  readonly visitors: Part<ShownVisitor>;
  /** Whether there are entries before the last 5000 clicks or leads, which no visitor is made of. */
  readonly older: boolean;
  readonly requests: Part<RequestLine>;
}

const SHOWN_FAULTS = 20;

/** What a page with this view is to show. */
export function stateFor(ledger: LedgerStore, faults: Faults, view: View): InspectorState {
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
    faults: periods.latest(SHOWN_FAULTS),
    affiliates: affiliatesFor(ledger, view),
    unlinked: show(matching.filter(isUnlinked), view.unlinked),
    visitors: show(
      matching.filter((visitor) => !isUnlinked(visitor)),
      view.visitors,
    ),
    older: clicks.count() > MOST || leads.count() > MOST,
    requests: requestsFor(ledger, view),
  };
}

/** The most valuable, and what was linked to no click. */
function affiliatesFor(ledger: LedgerStore, { affiliates: count }: View): Part<AffiliateTotals> {
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

function shownVisitor(ledger: LedgerStore, visitor: Visitor, count: number): ShownVisitor {
  const { key, name, lastAt, clicks, registrations, payments } = visitor;
  const request = ledger.tables.requests.thatReported;
  const leads = (all: readonly Lead[]): Part<ShownLead> => {
    const unlinked = all.filter(({ linkedClick }) => linkedClick === null);
    const chosen = new Set([...unlinked.slice(-count), ...all.slice(-count)]);
    const shown = all
      .filter((lead) => chosen.has(lead))
      .map((lead) => ({
        ...lead,
        request: request(lead),
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

function requestsFor({ tables: { requests } }: LedgerStore, view: View): Part<RequestLine> {
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
