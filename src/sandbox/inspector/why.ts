import { span } from "../../browser/span.js";
import type { Click, Lead, NotLinked } from "../ledger/entries.js";
import type { LedgerStore } from "../ledger/ledger.js";

/** As docs/why-not.md has it. */
export const REASONS: Readonly<Record<NotLinked, string>> = {
  "no-click-with-this-click-id": "no click with this click id",
  "no-click-with-this-session-id": "no click with this session id",
  "no-session-id": "no session id",
  "click-came-after": "the click came after it",
  "another-visitors-click": "the session’s click is another visitor’s",
};

/** Words of ours, then a text that a stranger chose, then words of ours, and so on. */
export type Why = readonly string[];

/** Why a registration or payment was linked to no click, as far as is known; null: it was linked. */
export function whyNot(ledger: LedgerStore, lead: Lead): Why | null {
  const { kind, clickId, sessionId, notLinked, customerEmail } = lead;
  if (notLinked === null) return null;
  const registration = kind === "payment" && ledger.registrationOf(lead);
  const isLater = registration && registration.at > lead.at;
  const registered = !registration
    ? " never registered."
    : registration.linkedClick === null
      ? ` registered (lead ${registration.id}), and that was linked to no click either.`
      : ` registered (lead ${registration.id}) ${isLater ? `${apart(registration, lead)} it` : "before it"}.`;
  const carried = clickId ?? sessionId;
  const name = clickId === null ? "session id" : "click id";
  return joined(
    [`${REASONS[notLinked]}. `],
    carried === null ? ["It carried no id. "] : [`It carried the ${name} `, carried, ". "],
    nearest(ledger, lead, carried),
    kind === "payment" ? ["", customerEmail, registered] : [],
  );
}

/** The click that has the id, in whatever field; otherwise the last one before the lead. */
function nearest(ledger: LedgerStore, lead: Lead, carried: string | null): Why {
  const same =
    carried === null
      ? undefined
      : (ledger.clickOf(carried) ??
        ledger.lastClickOf(carried) ??
        (/^\d+$/.test(carried) ? ledger.clicks({ id: Number(carried) })[0] : undefined));
  const click = same ?? lastClickBefore(lead, ledger.entries());
  if (!click) return ["No click came before it. "];
  const { id, affiliateReference, clickId, sessionId } = click;
  const field = carried === clickId ? "click id" : carried === sessionId ? "session id" : "number";
  return joined(
    [`${same ? `That is the ${field} of` : "The nearest is"} click ${id} (`, affiliateReference, ")"],
    [`, which came ${apart(click, lead)} it`],
    same || sessionId === null ? [". "] : [", with the session id ", sessionId, ". "],
  );
}

/** By order of arrival, without a copy: the ledger may have 100,000 entries. */
function lastClickBefore(lead: Lead, entries: readonly (Click | Lead)[]): Click | undefined {
  for (let nth = entries.lastIndexOf(lead) - 1; nth >= 0; nth -= 1) {
    const entry = entries[nth];
    if (entry?.kind === "click") return entry;
  }
  return undefined;
}

function apart(entry: Click | Lead, lead: Lead): string {
  const ms = Date.parse(entry.at) - Date.parse(lead.at);
  return `${span(Math.abs(ms))} ${ms > 0 ? "after" : "before"}`;
}

/** Each part begins and ends with words of ours, which become one where two meet. */
function joined(...parts: readonly Why[]): Why {
  return parts.reduce((all, [first = "", ...rest]) => [
    ...all.slice(0, -1),
    (all.at(-1) ?? "") + first,
    ...rest,
  ]);
}
