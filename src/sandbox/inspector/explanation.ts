import type { Click, Lead } from "../ledger/entries.js";
import type { LedgerStore } from "../ledger/ledger.js";

/**
 * How the nearest click is related to the lead:
 *
 * - `same-click-id`, `same-session`: the id is the same
 * - `number`: the lead carried, as its click id, the number that the service gave this click
 * - `other-id`: the lead carried this click's session id as its click id, or the other way round
 * - `time`: no id is the same; of all clicks before the lead it is the last
 */
type Relation = "same-click-id" | "same-session" | "number" | "other-id" | "time";

/** Why a registration or payment was linked to no click, as far as is known. */
export function explain({ tables }: LedgerStore, lead: Lead) {
  const { clickId, sessionId, customerEmail } = lead;
  const registration = lead.kind === "payment" ? tables.leads.registrationOf(customerEmail) : undefined;
  /** How long after the lead; below zero: before it. */
  const afterMs = (at: string) => Date.parse(at) - Date.parse(lead.at);
  const carries = (field: "clickId" | "sessionId", value: string | null) =>
    value !== null && { field, value };
  const found = nearestClick(tables, lead);
  const describe = ({ id, at, affiliateReference, clickId, sessionId }: Click, relation: Relation) => {
    const customers = tables.leads.customersOf(id);
    return { id, affiliateReference, clickId, sessionId, relation, afterMs: afterMs(at), customers };
  };
  return {
    /** The id that it carried to be linked by; null: none. */
    carried: carries("clickId", clickId) || carries("sessionId", sessionId) || null,
    /** The click that comes nearest to what it should have been linked to; null: there is none. */
    nearest: found && describe(...found),
    /** For a payment: its customer's last registration; null: that customer never registered. */
    registration: registration
      ? { id: registration.id, linked: registration.click !== null, afterMs: afterMs(registration.at) }
      : null,
  };
}

/** The same id first, then an id that was mistaken for another one, then the time. */
function nearestClick({ clicks }: LedgerStore["tables"], lead: Lead): [Click, Relation] | null {
  const { at, clickId, sessionId } = lead;
  const found = (click: Click | undefined, relation: Relation): [Click, Relation] | undefined =>
    click && [click, relation];
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
