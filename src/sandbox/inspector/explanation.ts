import type { Click, Lead } from "../ledger/entries.js";
import type { LedgerStore } from "../ledger/ledger.js";

/** What is known about a registration or payment that was linked to no click. */
export interface Explanation {
  /** The id that it carried to be linked by; null: none. */
  readonly carried: { readonly field: "clickId" | "sessionId"; readonly value: string } | null;
  /** The click that comes nearest to what it should have been linked to; null: there is none. */
  readonly nearest: NearestClick | null;
  /** For a payment: its customer's last registration; null: that customer never registered. */
  readonly registration: { readonly id: number; readonly linked: boolean; readonly afterMs: number } | null;
}

/** A click, and how it relates to a lead. */
export interface NearestClick {
  readonly id: number;
  readonly at: string;
  readonly affiliateReference: string;
  readonly clickId: string | null;
  readonly sessionId: string | null;
  /**
   * - `same-click-id`, `same-session`: the id is the same
   * - `number`: the lead carried, as its click id, the number that the service gave this click
   * - `other-id`: the lead carried this click's session id as its click id, or the other way round
   * - `time`: no id is the same; of all clicks before the lead it is the last
   */
  readonly relation: "same-click-id" | "same-session" | "number" | "other-id" | "time";
  /** How long after the lead it came, in milliseconds; below zero: before it. */
  readonly afterMs: number;
  /** The customers who registered through it. */
  readonly customers: readonly string[];
}

/** Says of a lead that was linked to no click what it carried, and which click it may have missed. */
export function explain({ tables }: LedgerStore, lead: Lead): Explanation {
  const { clickId, sessionId, customerEmail } = lead;
  const nearest = nearestClick(tables, lead);
  const registration = lead.kind === "payment" ? tables.leads.registrationOf(customerEmail) : undefined;
  const afterMs = (at: string) => Date.parse(at) - Date.parse(lead.at);
  return {
    carried:
      clickId !== null
        ? { field: "clickId", value: clickId }
        : sessionId !== null
          ? { field: "sessionId", value: sessionId }
          : null,
    nearest: nearest && {
      id: nearest.click.id,
      at: nearest.click.at,
      affiliateReference: nearest.click.affiliateReference,
      clickId: nearest.click.clickId,
      sessionId: nearest.click.sessionId,
      relation: nearest.relation,
      afterMs: afterMs(nearest.click.at),
      customers: tables.leads.customersOf(nearest.click.id),
    },
    registration: registration
      ? { id: registration.id, linked: registration.click !== null, afterMs: afterMs(registration.at) }
      : null,
  };
}

type Found = { readonly click: Click; readonly relation: NearestClick["relation"] };

/** The best match first: the same id, then an id that was mistaken for another one, then the time. */
function nearestClick({ clicks }: LedgerStore["tables"], lead: Lead): Found | null {
  const { at, clickId, sessionId } = lead;
  const found = (click: Click | undefined, relation: Found["relation"]) => click && { click, relation };
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
