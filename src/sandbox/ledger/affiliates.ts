import type { Database } from "./sqlite.js";

/** What came through one affiliate; null: what was linked to no click. */
export interface AffiliateTotals {
  readonly affiliateReference: string | null;
  readonly clicks: number;
  readonly registrations: number;
  readonly payments: number;
  /** The payments' `leadValue`, summed. */
  readonly value: number;
}

/** The most valuable first; what was linked to no click last. */
export function affiliatesView(database: Database) {
  const totals = database.prepare(
    `with entries as (
       select affiliateReference, 'click' as kind, 0 as leadValue from clicks
       union all
       select affiliateReference, kind, leadValue from leads left join clicks on clicks.id = linkedClick
     )
     select affiliateReference, sum(kind = 'click') as clicks, sum(kind = 'registration') as registrations,
            sum(kind = 'payment') as payments, total(leadValue) as value
     from entries group by affiliateReference
     order by affiliateReference is null, value desc, registrations desc, clicks desc`,
  );
  return {
    totals: () =>
      (totals.all() as AffiliateTotals[]).map((each) => ({
        ...each,
        // An infinite sum is no JSON.
        value: Math.min(each.value, Number.MAX_VALUE),
      })),
  };
}
