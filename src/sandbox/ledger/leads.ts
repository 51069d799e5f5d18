import type { Click, Lead, Link } from "./entries.js";
import { type Database, inserter } from "./sqlite.js";

/** A registration or payment that is not linked yet. */
export type NewLead = Pick<Lead, "kind" | "endpoint" | "customerEmail"> & {
  readonly [field in "clickId" | "sessionId" | "customerId" | "customerName"]?: string | undefined;
} & { readonly leadValue?: number };

/** A customer is an e-mail address, whatever its case. */
export function leadsTable(database: Database) {
  const select = "select leads.*, affiliateReference from leads left join clicks on clicks.id = linkedClick";
  const all = database.prepare(`${select} order by leads.id`);
  const count = database.prepare("select count(*) as count from leads");
  const latest = database.prepare(
    `${select}
     where leads.id in (select id from leads order by id desc limit ?)
        or kind = 'registration' and customer in (select customer from leads order by id desc limit ?)
     order by leads.id`,
  );
  const last = database.prepare(
    `select * from (${select} where kind = ? order by leads.id desc limit ?) order by id`,
  );
  const byId = database.prepare(`${select} where leads.id = ?`);
  const lastRegistration = database.prepare(
    "select id, at, linkedClick as click from leads where customer = ? and kind = 'registration' order by id desc limit 1",
  );
  const registeredThrough = database.prepare(
    "select customer from leads where linkedClick = ? and kind = 'registration'",
  );
  const insert = inserter(database, "leads");
  const explain = database.prepare(
    `update leads set notLinked = 'click-came-after'
     where notLinked = 'no-click-with-this-click-id' and clickId = ?
        or notLinked = 'no-click-with-this-session-id' and sessionId = ?`,
  );

  return {
    all: () => all.all().map(toLead),
    count: () => (count.get() as { count: number }).count,
    /** The last so many, and the registrations of their customers. */
    latest: (count: number) => latest.all(count, count).map(toLead),
    last: (kind: Lead["kind"], count: number) => last.all(kind, count).map(toLead),
    /** The customer's last registration, and the click it was linked to. */
    registrationOf: (customerEmail: string) =>
      lastRegistration.get(customerEmail.toLowerCase()) as
        | { id: number; at: string; click: number | null }
        | undefined,
    /** The customers who registered through that click, in lower case. */
    customersOf: (click: number) =>
      (registeredThrough.all(click) as { customer: string }[]).map(({ customer }) => customer),
    /** Notes on earlier leads that waited for this click that it came too late. */
    cameBefore: ({ clickId, sessionId }: Click) => void explain.run(clickId, sessionId),
    add(lead: NewLead, link: Link): Lead {
      const [at, customer] = [new Date().toISOString(), lead.customerEmail.toLowerCase()];
      return toLead(byId.get(insert({ ...lead, ...link, at, customer })));
    },
  };
}

function toLead(row: unknown): Lead {
  const { customer: _, ...lead } = row as Lead & { customer: string };
  return lead;
}
