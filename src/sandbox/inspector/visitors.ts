import type { Click, Lead, Payment, Registration } from "../ledger/entries.js";
import type { LedgerStore } from "../ledger/ledger.js";

/** What belongs together by ids, customer or linking. */
export interface Visitor {
  /** The same from state to state. */
  readonly key: string;
  /** What its entries may share with later ones. */
  readonly marks: string[];
  readonly entries: (Click | Lead)[];
}

/** Groups all that the ledger has, and all that comes, by visitor. Gives them, the most recent last. */
export function recordVisitors(ledger: LedgerStore): () => Iterable<Visitor> {
  let visitors = new Set<Visitor>();
  let byMark = new Map<string, Visitor>();

  function add(entry: Click | Lead): void {
    const marks = marksOf(entry);
    const known = new Set(marks.flatMap((mark) => byMark.get(mark) ?? []));
    const [visitor = { key: `${entry.kind}-${entry.id}`, marks: [], entries: [] }, ...parts] = [
      ...known,
    ].sort((one, other) => other.entries.length - one.entries.length);
    for (const part of parts) {
      for (const entry of part.entries) visitor.entries.push(entry);
      for (const mark of part.marks) visitor.marks.push(mark);
      visitors.delete(part);
    }
    visitor.entries.push(entry);
    visitor.marks.push(...marks.filter((mark) => !byMark.has(mark)));
    for (const mark of parts.length > 0 ? visitor.marks : marks) byMark.set(mark, visitor);
    visitors.delete(visitor);
    visitors.add(visitor);
  }
  for (const entry of ledger.entries()) add(entry);
  ledger.events.on("entry", (entry) => entry.kind !== "request" && add(entry));
  ledger.events.on("clear", () => {
    visitors = new Set();
    byMark = new Map();
  });
  return () => visitors;
}

/** The customer's name or e-mail address; before a lead came, `<affiliate>’s visitor`. */
export function nameOf({ entries }: Visitor): string {
  const last = <Kind extends string>(kind: Kind) =>
    entries.findLast((entry): entry is Extract<Click | Lead, { kind: Kind }> => entry.kind === kind);
  const lead: Registration | Payment | undefined = last("registration") ?? last("payment");
  return lead?.customerName || lead?.customerEmail || `${last("click")?.affiliateReference}’s visitor`;
}

/** All that an entry may share with others of its visitor. */
function marksOf(entry: Click | Lead): string[] {
  const { clickId, sessionId } = entry;
  const ids = [clickId !== null && `click ${clickId}`, sessionId !== null && `session ${sessionId}`];
  if (entry.kind === "click") return [`#${entry.id}`, ...ids].filter((mark) => mark !== false);
  const customer = `@${entry.customerEmail.toLowerCase()}`;
  if (entry.linkedClick !== null) return [`#${entry.linkedClick}`, customer];
  // The session is shared with the visitor whose click it is. This customer is another one.
  if (entry.notLinked === "another-visitors-click") return [customer];
  return [customer, ...ids].filter((mark) => mark !== false);
}
