import type { Click, Lead, Payment, Registration } from "../ledger/entries.js";

/** What belongs together by ids, customer or linking. Lists are in order of arrival. */
export interface Visitor {
  /** The same from state to state: the kind and number of the first entry. */
  readonly key: string;
  /** The customer's name or e-mail address; before a lead came, `<affiliate>’s visitor`. */
  readonly name: string;
  readonly clicks: Click[];
  readonly registrations: Registration[];
  readonly payments: Payment[];
  /** When the last of it came: ISO 8601 in UTC. */
  readonly lastAt: string;
}

/** Groups clicks and leads by visitor, the most recent first. */
export function groupByVisitor(clicks: readonly Click[], leads: readonly Lead[]): Visitor[] {
  const entries = [...clicks, ...leads];
  const sets = disjointSets();
  for (const entry of entries) sets.join(marksOf(entry));

  // By their last entries: many may come within one millisecond.
  const groups = new Map<string, (Click | Lead)[]>();
  for (const entry of entries) {
    const root = sets.rootOf(marksOf(entry)[0]);
    const group = groups.get(root) ?? [];
    group.push(entry);
    groups.delete(root);
    groups.set(root, group);
  }
  const visitors = [...groups.values()].reverse().map(visitorOf);
  return visitors.sort((a, b) => (a.lastAt === b.lastAt ? 0 : a.lastAt < b.lastAt ? 1 : -1));
}

/** Whether a registration or a payment was linked to no click. */
export function isUnlinked({ registrations, payments }: Visitor): boolean {
  return [...registrations, ...payments].some(({ linkedClick }) => linkedClick === null);
}

function visitorOf(entries: (Click | Lead)[]): Visitor {
  const [first] = entries as [Click | Lead];
  const clicks = entries.filter((entry): entry is Click => entry.kind === "click");
  const registrations = entries.filter((entry): entry is Registration => entry.kind === "registration");
  const payments = entries.filter((entry): entry is Payment => entry.kind === "payment");
  const lead = registrations.at(-1) ?? payments.at(-1);
  return {
    key: `${first.kind === "click" ? "click" : "lead"}-${first.id}`,
    name: lead?.customerName || lead?.customerEmail || `${clicks.at(-1)?.affiliateReference}’s visitor`,
    clicks,
    registrations,
    payments,
    lastAt:
      entries
        .map(({ at }) => at)
        .sort()
        .at(-1) ?? "",
  };
}

/** All that an entry may share with others of its visitor. */
function marksOf(entry: Click | Lead): [string, ...string[]] {
  if (entry.kind === "click") return [`#${entry.id}`, ...ids(entry)];
  const customer = `@${entry.customerEmail.toLowerCase()}`;
  if (entry.linkedClick !== null) return [`#${entry.linkedClick}`, customer];
  // The session is shared with the visitor whose click it is. This customer is another one.
  return entry.notLinked === "another-visitors-click" ? [customer] : [customer, ...ids(entry)];
}

function ids({ clickId, sessionId }: { clickId: string | null; sessionId: string | null }): string[] {
  return [
    ...(clickId === null ? [] : [`click ${clickId}`]),
    ...(sessionId === null ? [] : [`session ${sessionId}`]),
  ];
}

/** Union-find: which marks have been joined, through however many steps. */
function disjointSets() {
  const parents = new Map<string, string>();

  function rootOf(mark: string): string {
    let root = mark;
    for (let parent = parents.get(root); parent !== undefined; parent = parents.get(root)) root = parent;
    // Brings every mark on the way nearer to the root, so that a long chain is walked once.
    for (let at = mark; at !== root; ) {
      const next = parents.get(at) as string;
      parents.set(at, root);
      at = next;
    }
    return root;
  }
  function join([first, ...later]: [string, ...string[]]): void {
    for (const mark of later) {
      const [root, otherRoot] = [rootOf(first), rootOf(mark)];
      if (root !== otherRoot) parents.set(otherRoot, root);
    }
  }
  return { rootOf, join };
}
