import type { EndpointName } from "../endpoints.js";
import type { Link } from "../linking.js";
import type { Click, Lead } from "./entries.js";
import type { Database } from "./sqlite.js";

/** A registration or payment as it arrives, before it is linked. */
export interface NewLead {
  readonly kind: Lead["kind"];
  readonly endpoint: EndpointName;
  readonly customerEmail: string;
  readonly clickId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly customerId?: string | undefined;
  readonly customerName?: string | undefined;
  readonly leadValue?: number | undefined;
}

/** The registrations and payments in the ledger. A customer is an e-mail address, whatever its case. */
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
  const insert = database.prepare(
    `insert into leads (at, kind, endpoint, clickId, sessionId, customerEmail, customer, customerId, customerName,
                        leadValue, linkedClick, linkedThrough, notLinked)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const explain = database.prepare(
    `update leads set notLinked = 'click-came-after'
     where notLinked = 'no-click-with-this-click-id' and clickId = ?
        or notLinked = 'no-click-with-this-session-id' and sessionId = ?`,
  );

  function customersOf(click: number): string[] {
    return registeredThrough.all(click).map((row) => (row as { customer: string }).customer);
  }

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
    /** The customers who registered through that click. */
    customersOf,
    /** Whether this customer, and whether another one, registered through that click. */
    registeredThrough(click: number, customerEmail: string) {
      const customers = customersOf(click);
      const self = customers.includes(customerEmail.toLowerCase());
      return { self, others: customers.length > (self ? 1 : 0) };
    },
    /** Says of earlier leads that waited for this click that it came too late for them. */
    cameBefore: ({ clickId, sessionId }: Click) => void explain.run(clickId, sessionId),
    add(lead: NewLead, link: Link): Lead {
      const { lastInsertRowid } = insert.run(
        new Date().toISOString(),
        lead.kind,
        lead.endpoint,
        lead.clickId ?? null,
        lead.sessionId ?? null,
        lead.customerEmail,
        lead.customerEmail.toLowerCase(),
        lead.customerId ?? null,
        lead.customerName ?? null,
        lead.leadValue ?? null,
        link.click,
        link.linkedThrough,
        link.notLinked,
      );
      return toLead(byId.get(Number(lastInsertRowid)));
    },
  };
}

function toLead(row: unknown): Lead {
  const { customer: _, ...lead } = row as Lead & { customer: string };
  return lead;
}
