import type { Click, Lead, RecordedRequest } from "../ledger/entries.js";
import type { LedgerStore } from "../ledger/ledger.js";
import { nameOf, type Visitor } from "./visitors.js";
import { whyNot } from "./why.js";

/**
 * What the page shows of the ledger. It asks for all of it again and again. `limit`: of visitors and
 * of requests. A fifth as many of a visitor's entries are shown.
 */
export function stateOf(ledger: LedgerStore, visitors: Iterable<Visitor>, limit: number) {
  const latestFirst = [...visitors].reverse();
  const unlinked = new Set(latestFirst.filter(({ entries }) => entries.some(isLost)));
  // What was not linked first.
  const inOrder = [...unlinked, ...latestFirst.filter((visitor) => !unlinked.has(visitor))];
  const requests = ledger.requests().reverse();
  // A repeated request gets the same answer. The first one recorded the entry.
  const reportedBy = new Map(requests.map((request) => [reportedIn(request), request.id]));

  function step<Of extends Click | Lead>(entries: readonly (Click | Lead)[], kind: Of["kind"]) {
    const all = entries.filter((entry): entry is Of => entry.kind === kind);
    const inOrder = all.sort((one, other) => one.id - other.id);
    // The last ones. If there are too many, those that were not linked stay.
    const few = inOrder
      .toSorted((one, other) => Number(isLost(one)) - Number(isLost(other)))
      .slice(-limit / 5);
    const shown = few
      .sort((one, other) => one.id - other.id)
      .map((entry) => ({
        ...entry,
        request: reportedBy.get(nameIn(entry)) ?? null,
        why: entry.kind === "click" ? null : whyNot(ledger, entry),
      }));
    return { total: all.length, shown };
  }
  return {
    unlinked: unlinked.size,
    visitors: {
      total: inOrder.length,
      shown: inOrder.slice(0, limit).map((visitor) => ({
        key: visitor.key,
        name: nameOf(visitor),
        lastAt: visitor.entries.at(-1)?.at ?? "",
        clicks: step<Click>(visitor.entries, "click"),
        registrations: step<Lead>(visitor.entries, "registration"),
        payments: step<Lead>(visitor.entries, "payment"),
      })),
    },
    requests: {
      total: requests.length,
      shown: requests.slice(0, limit).map(({ headers: _, body: __, response: ___, ...request }) => request),
    },
  };
}

const isLost = (entry: Click | Lead) => entry.kind !== "click" && entry.linkedClick === null;

const nameIn = ({ kind, id }: Click | Lead) => `${kind === "click" ? "click" : "lead"} ${id}`;

const reportedIn = ({ recordedClick, recordedLead }: RecordedRequest) =>
  recordedClick === null ? `lead ${recordedLead}` : `click ${recordedClick}`;

/** How many an address's query asks for: 20 to 5000, by default 100. */
export function limitIn(query: URLSearchParams): number {
  return Math.min(Math.max(Number(query.get("limit")) || 100, 20), 5000);
}
