import type { Ledger } from "express-affiliate/sandbox";
import { exactly, type Figure, figuresOf, wrongIn } from "../../shared/figures.js";

/** Somebody who came through affiliates' links, signed up and paid. */
export interface Visitor {
  readonly email: string;
  /** The references of the links, each once. */
  readonly clicks: readonly string[];
  /** The affiliate whom the sign-up and the payment must credit. */
  readonly credited: string;
}

/**
 * Compares what the service has recorded with the visitors who came. References and addresses of
 * the scene's own contain its `name`, and no other scene's do. `more`: what else is wrong.
 */
export function countScene(
  name: string,
  visitors: readonly Visitor[],
  ledger: Ledger,
  more: readonly string[] = [],
): Figure[] {
  const clicks = ledger.clicks().filter(({ affiliateReference }) => isOf(name, affiliateReference));
  const registrations = ledger.registrations().filter(({ customerEmail }) => isOf(name, customerEmail));
  const payments = ledger.payments().filter(({ customerEmail }) => isOf(name, customerEmail));
  const creditedClicks = new Map<number, string>();
  const wrong = [...more];

  for (const { email, credited } of visitors) {
    for (const [kind, leads] of [
      ["sign-up", registrations],
      ["payment", payments],
    ] as const) {
      const own = leads.filter(({ customerEmail }) => customerEmail === email);
      if (own.length !== 1) wrong.push(`${email} has ${own.length} ${kind}s`);
      for (const { affiliateReference, linkedClick, notLinked } of own) {
        if (affiliateReference !== credited || linkedClick === null) {
          wrong.push(`a ${kind} of ${email} credits ${affiliateReference ?? `nobody (${notLinked})`}`);
          continue;
        }
        const other = creditedClicks.get(linkedClick) ?? email;
        if (other !== email) wrong.push(`${other} and ${email} share a click`);
        creditedClicks.set(linkedClick, email);
      }
    }
  }
  const counts = figuresOf(
    name,
    ["clicks", clicks.length, exactly(visitors.reduce((total, visitor) => total + visitor.clicks.length, 0))],
    ["sign-ups", registrations.length, exactly(visitors.length)],
    ["payments", payments.length, exactly(visitors.length)],
  );
  return [...counts, ...wrongIn(name, wrong)];
}

/** What scenes write into references and addresses: a name without spaces. */
function slugOf(name: string): string {
  return name
    .replaceAll(/[^a-z0-9]+/gi, "-")
    .replaceAll(/^-|-$/g, "")
    .toLowerCase();
}

const isOf = (name: string, text: string): boolean => text.includes(`_${slugOf(name)}_`);

/** The reference of an affiliate of a scene's own. */
export const referenceOf = (name: string, affiliate: string): string => `_${slugOf(name)}_${affiliate}`;

/** The address of a visitor of a scene. */
export const emailOf = (name: string, number: number): string => `v${number}_${slugOf(name)}_@shop.example`;
