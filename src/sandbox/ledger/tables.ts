import type { RequestTo } from "../endpoints.js";
import type { Answer } from "../http.js";
import type { Click, Lead, Link, RecordedRequest } from "./entries.js";
import { type Database, inserter } from "./file.js";

/** A client-supplied click id names the first click that came with it. */
export function clicksTable(database: Database) {
  const count = database.prepare("select count(*) as count from clicks");
  const latest = database.prepare(
    `select * from clicks
     where id in (select id from clicks order by id desc limit ?)
        or id in (select linkedClick from leads order by id desc limit ?)
     order by id`,
  );
  const last = database.prepare("select * from (select * from clicks order by id desc limit ?) order by id");
  const byId = database.prepare("select * from clicks where id = ?");
  const byClickId = database.prepare("select * from clicks where clickId = ?");
  const lastOfSession = database.prepare(
    "select * from clicks where sessionId = ? and at <= ? order by id desc limit 1",
  );
  const firstOfSession = database.prepare("select * from clicks where sessionId = ? order by id limit 1");
  const lastBefore = database.prepare("select * from clicks where at <= ? order by at desc, id desc limit 1");
  const insert = inserter(database, "clicks");

  return {
    count: () => (count.get() as { count: number }).count,
    /** The last so many, and those that the last so many leads were linked to. */
    latest: (count: number) => latest.all(count, count).map(toClick),
    /** The last so many, or all. */
    last: (count = -1) => last.all(count).map(toClick),
    ofNumber: (id: number) => optional(byId.get(id)),
    ofClickId: (clickId: string) => optional(byClickId.get(clickId)),
    /** The last until then: the later of two affiliates' links decides. */
    ofSession: (sessionId: string, until = "9999") => optional(lastOfSession.get(sessionId, until)),
    firstOfSession: (sessionId: string) => optional(firstOfSession.get(sessionId)),
    lastBefore: (at: string) => optional(lastBefore.get(at)),
    add: (click: RequestTo<"click">): Click =>
      toClick(byId.get(insert({ ...click, at: new Date().toISOString() }))),
  };
}

function optional(row: unknown): Click | undefined {
  return row === undefined ? undefined : toClick(row);
}

function toClick(row: unknown): Click {
  return { kind: "click", ...(row as Omit<Click, "kind">) };
}

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
    "select customer from leads where linkedClick = ? and kind = 'registration' group by customer order by min(id)",
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
    /** Notes on earlier leads with this click's ids that the click came too late for them. */
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

const KEPT = 5000;

/** The last requests to the tracking endpoints, for people to read. */
export function requestsTable(database: Database) {
  const count = database.prepare("select count(*) as count from requests");
  const latest = database.prepare("select * from requests order by id desc limit ?");
  const byId = database.prepare("select * from requests where id = ?");
  const ofClick = database.prepare("select min(id) as id from requests where recordedClick = ?");
  const ofLead = database.prepare("select min(id) as id from requests where recordedLead = ?");
  const insert = inserter(database, "requests");
  const forget = database.prepare("delete from requests where id <= ?");

  return {
    count: () => (count.get() as { count: number }).count,
    /** The last first. */
    latest: (count = KEPT) => latest.all(count).map(toRequest),
    ofNumber(id: number): RecordedRequest | undefined {
      const row = byId.get(id);
      return row === undefined ? undefined : toRequest(row);
    },
    /** The id of the first request that reported it; null if it is no longer kept. */
    thatReported({ kind, id }: Click | Lead): number | null {
      const row = (kind === "click" ? ofClick : ofLead).get(id) as { id: number | null };
      return row.id;
    },
    add(request: Omit<RecordedRequest, "kind" | "id">): RecordedRequest {
      const headers = JSON.stringify(request.headers);
      const id = insert({ ...request, headers, replayed: Number(request.replayed) });
      forget.run(id - KEPT);
      return { kind: "request", id, ...request };
    },
  };
}

function toRequest(row: unknown): RecordedRequest {
  const { headers, replayed, ...rest } = row as Omit<RecordedRequest, "headers" | "replayed"> & {
    headers: string;
    replayed: number;
  };
  return { ...rest, kind: "request", headers: JSON.parse(headers), replayed: replayed === 1 };
}

/** Answers to an Idempotency-Key, to be given again. */
export function answersTable(database: Database) {
  const select = database.prepare(
    "select status, body from answers where endpoint = ? and idempotencyKey = ?",
  );
  const insert = inserter(database, "answers");

  return {
    of(endpoint: string, idempotencyKey: string): Answer | undefined {
      const row = select.get(endpoint, idempotencyKey) as { status: number; body: string } | undefined;
      return row && { status: row.status, body: JSON.parse(row.body) };
    },
    add(endpoint: string, idempotencyKey: string, { status, body }: Answer): void {
      insert({ endpoint, idempotencyKey, status, body: JSON.stringify(body) });
    },
  };
}

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
      (totals.all() as AffiliateTotals[]).map((affiliate) => ({
        ...affiliate,
        // An infinite sum is no JSON.
        value: Math.min(affiliate.value, Number.MAX_VALUE),
      })),
  };
}
