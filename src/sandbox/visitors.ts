import type { Click, Lead, Payment, Registration } from "./ledger/entries.js";

/** One visitor's way: what belongs together by its ids, its customer, or its linking. Each list in order of arrival. */
export interface Visitor {
  readonly clicks: Click[];
  readonly registrations: Registration[];
  readonly payments: Payment[];
  /** When the last of it came: ISO 8601 in UTC. */
  readonly lastAt: string;
}

/** Groups clicks and leads by visitor; the one who was there last comes first. */
export function groupByVisitor(clicks: readonly Click[], leads: readonly Lead[]): Visitor[] {
  const family = disjointSets();
  for (const entry of [...clicks, ...leads]) family.join(marksOf(entry));

  const visitors = new Map<string, Visitor & { lastAt: string }>();
  for (const entry of [...clicks, ...leads]) {
    const root = family.rootOf(marksOf(entry)[0]);
    const visitor = visitors.get(root) ?? { clicks: [], registrations: [], payments: [], lastAt: "" };
    visitors.set(root, visitor);
    if (entry.kind === "click") visitor.clicks.push(entry);
    else if (entry.kind === "registration") visitor.registrations.push(entry);
    else visitor.payments.push(entry);
    if (entry.at > visitor.lastAt) visitor.lastAt = entry.at;
  }
  return [...visitors.values()].sort((a, b) => (a.lastAt < b.lastAt ? 1 : -1));
}

/** Every mark that an entry shares with others of its visitor. */
function marksOf(entry: Click | Lead): [string, ...string[]] {
  if (entry.kind === "click") return [`#${entry.id}`, ...ids(entry)];
  const customer = `@${entry.customerEmail.toLowerCase()}`;
  if (entry.linkedClick !== null) return [`#${entry.linkedClick}`, customer];
  // The session is shared with the visitor whose click it is; this customer is another.
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
    return root;
  }
  function join([first, ...others]: [string, ...string[]]): void {
    for (const other of others) {
      const [root, otherRoot] = [rootOf(first), rootOf(other)];
      if (root !== otherRoot) parents.set(otherRoot, root);
    }
  }
  return { rootOf, join };
}
