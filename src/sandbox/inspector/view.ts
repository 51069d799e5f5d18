import * as z from "zod/mini";

/** How much of each list a page gets at most, and how far back visitors are looked for. */
export const MOST = 5000;

const text = z.catch(z.string().check(z.maxLength(300)), "");
const count = (usual: number) =>
  z.catch(z.coerce.number().check(z.int(), z.minimum(1), z.maximum(MOST)), usual);

const schema = z.object({
  /** Visitors that have this text in one of their fields. */
  search: text,
  /** Visitors with a click or a lead of this affiliate; empty: all. */
  affiliate: text,
  state: z.catch(z.enum(["", "not-linked", "linked", "clicked"]), ""),
  /** Requests that have this text in their head, body or answer. */
  containing: text,
  /** Requests whose status begins with this digit; `none`: without an answer. */
  answered: z.catch(z.enum(["", "2", "4", "5", "none"]), ""),
  /** How many of each are shown. `entries`: of each visitor. */
  unlinked: count(10),
  visitors: count(100),
  entries: count(20),
  affiliates: count(100),
  requests: count(100),
});

export type View = z.output<typeof schema>;

/** The view in an address's query. What is invalid counts as left out. */
export function readView(address: string): View {
  const query = address.includes("?") ? address.slice(address.indexOf("?")) : "";
  return schema.parse(Object.fromEntries(new URLSearchParams(query)));
}
