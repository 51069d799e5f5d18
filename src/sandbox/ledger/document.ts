import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod/mini";
import { Refused, sendJson } from "../http.js";
import type { Payment, Registration } from "./entries.js";
import type { LedgerStore } from "./ledger.js";

const MOST = 5000;
const DEFAULT = 1000;

/** Answers `GET /ledger.json` with the last entries of each kind, in order of arrival. @throws Refused */
export function sendLedger({ url = "" }: IncomingMessage, res: ServerResponse, ledger: LedgerStore): void {
  sendJson(res, { status: 200, body: ledgerDocument(ledger, url) });
}

/** @throws Refused if `limit` in the query is no number from 1 to 5000. */
function ledgerDocument(ledger: LedgerStore, url: string) {
  const limit = Number(new URLSearchParams(url.split("?")[1]).get("limit") ?? DEFAULT);
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST) {
    throw new Refused(400, `limit is how many of each kind: 1 to ${MOST}; default ${DEFAULT}.`);
  }
  const { clicks, leads, requests } = ledger.tables;
  return {
    clicks: clicks.last(limit),
    registrations: leads.last("registration", limit) as Registration[],
    payments: leads.last("payment", limit) as Payment[],
    // Without headers and bodies.
    requests: requests
      .latest(limit)
      .map(({ headers: _, body: __, response: ___, ...request }) => request)
      .reverse(),
  };
}

const text = z.nullable(z.string());
const number = z.nullable(z.int());
const entry = { id: z.int(), at: z.iso.datetime(), clickId: text, sessionId: text };
const lead = {
  ...entry,
  endpoint: z.string(),
  customerEmail: z.string(),
  customerId: text,
  customerName: text,
  linkedClick: number,
  linkedThrough: text,
  notLinked: text,
  affiliateReference: text,
};

/** The document's shape, for OpenAPI. */
export const ledgerSchema = z.object({
  clicks: z.array(
    z.object({
      kind: z.literal("click"),
      ...entry,
      affiliateReference: z.string(),
      clickedUrl: text,
      referrerUrl: text,
      userAgent: text,
      source: text,
    }),
  ),
  registrations: z.array(z.object({ kind: z.literal("registration"), ...lead, leadValue: z.null() })),
  payments: z.array(z.object({ kind: z.literal("payment"), ...lead, leadValue: z.number() })),
  requests: z.array(
    z.object({
      kind: z.literal("request"),
      id: z.int(),
      at: z.iso.datetime(),
      method: z.string(),
      path: z.string(),
      status: number,
      ms: z.int(),
      fault: z.string(),
      idempotencyKey: text,
      replayed: z.boolean(),
      recordedClick: number,
      recordedLead: number,
    }),
  ),
});
