import * as z from "zod/mini";
import type { Click, Lead, RecordedRequest } from "../ledger/entries.js";
import type { LedgerStore } from "../ledger/ledger.js";
import { nameOf, type Visitor } from "./visitors.js";
import { whyNot } from "./why.js";

/** What the page shows of the ledger. It asks for all of it again and again. */
export type InspectorState = ReturnType<typeof stateOf>;

export function stateOf(
  ledger: LedgerStore,
  visitors: Iterable<Visitor>,
  { search, containing, limit }: View,
) {
  const matching = [...visitors]
    .reverse()
    .filter(({ entries }) => entries.some((entry) => has(entry, search)));
  const unlinked = new Set(matching.filter(({ entries }) => entries.some(isLost)));
  // What was not linked first.
  const inOrder = [...unlinked, ...matching.filter((visitor) => !unlinked.has(visitor))];
  const requests = ledger.requests().reverse();
  const asked = requests.filter((request) => isAsked(request, containing));
  // The first of those that were answered alike counts.
  const reportedBy = new Map(requests.map((request) => [reportedIn(request), request.id]));

  function step<Of extends Click | Lead>(entries: readonly (Click | Lead)[], kind: Of["kind"]) {
    const all = entries.filter((entry): entry is Of => entry.kind === kind);
    const inOrder = all.sort((one, other) => one.id - other.id);
    // The last ones, and rather those that were not linked.
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
    affiliates: affiliatesOf(ledger.entries(), limit / 20),
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
      total: asked.length,
      shown: asked.slice(0, limit).map(({ headers: _, body: __, response: ___, ...request }) => request),
    },
  };
}

const isLost = (entry: Click | Lead) => entry.kind !== "click" && entry.linkedClick === null;

const nameIn = ({ kind, id }: Click | Lead) => `${kind === "click" ? "click" : "lead"} ${id}`;

const reportedIn = ({ recordedClick, recordedLead }: RecordedRequest) =>
  recordedClick === null ? `lead ${recordedLead}` : `click ${recordedClick}`;

/** The totals of each; null: what was linked to no click. That first, then the most valuable. */
function affiliatesOf(entries: readonly (Click | Lead)[], count: number) {
  const all = new Map<
    string | null,
    { name: string | null; value: number } & Record<Lead["kind"] | "click", number>
  >();
  for (const entry of entries) {
    const name = entry.affiliateReference;
    const totals = all.get(name) ?? { name, click: 0, registration: 0, payment: 0, value: 0 };
    totals[entry.kind] += 1;
    // An infinite sum is no JSON.
    if (entry.kind === "payment") totals.value = Math.min(totals.value + entry.leadValue, Number.MAX_VALUE);
    all.set(name, totals);
  }
  const inOrder = [...all.values()].sort(
    (one, other) => Number(other.name === null) - Number(one.name === null) || other.value - one.value,
  );
  return { total: all.size, shown: inOrder.slice(0, count) };
}

function isAsked(request: RecordedRequest, text: string): boolean {
  const { method, path, headers, body, status, response } = request;
  const head = Object.entries(headers).map((pair) => pair.join(": "));
  return has([`${method} ${path}`, ...head, body, status ?? "no answer", response], text);
}

/** Whether one of the values has this text in it. */
function has(values: object, text: string): boolean {
  const wanted = text.toLowerCase();
  // Else each look of the page would read all that 100,000 customers sent.
  if (wanted === "") return true;
  return Object.values(values).some((value) =>
    String(value ?? "")
      .toLowerCase()
      .includes(wanted),
  );
}

const text = z.catch(z.string().check(z.maxLength(300)), "");
const schema = z.object({
  /** Visitors that have this text in one of their fields. */
  search: text,
  /** Requests that have this text in their head, body, status or answer. */
  containing: text,
  /** How many visitors and requests are shown: a fifth of each visitor's entries, a twentieth of affiliates. */
  limit: z.catch(z.coerce.number().check(z.int(), z.minimum(20), z.maximum(5000)), 100),
});

type View = z.output<typeof schema>;

/** The view in an address's query. What is invalid counts as left out. */
export function viewIn(query: URLSearchParams): View {
  return schema.parse(Object.fromEntries(query));
}
