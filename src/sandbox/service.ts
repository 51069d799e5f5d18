import type { EndpointName, RequestTo } from "./endpoints.js";
import { type Answer, Refused } from "./http.js";
import type { Link, NewLead } from "./ledger/entries.js";
import type { LedgerStore } from "./ledger/ledger.js";

export type Service = ReturnType<typeof createService>;

/** The endpoints of §4, as functions from a validated request to its answer, for one owner. */
export function createService(ledger: LedgerStore, clientId: number) {
  function ownedBy(request: { clientId: number }): void {
    if (request.clientId === clientId) return;
    throw new Refused(
      422,
      `clientId: no program owner has ${request.clientId}; this sandbox's is ${clientId}.`,
    );
  }

  function record(lead: NewLead, echoed: object): Answer {
    const { id, affiliateReference } = ledger.addLead(lead, linkOf(ledger, lead));
    const what = lead.kind === "payment" ? "Payment recorded" : "Registration recorded";
    const message =
      affiliateReference === null
        ? `${what}, linked to no click.`
        : `${what} for affiliate ${affiliateReference}.`;
    return { status: 201, body: { success: true, leadId: id, ...echoed, message } };
  }

  return {
    click(request: RequestTo<"click">): Answer {
      ownedBy(request);
      const { clickId, sessionId } = request;
      const known = clickId === undefined ? undefined : ledger.clickOf(clickId);
      const { id } = known ?? ledger.addClick(request);
      const message = known ? "This click was recorded before." : "Click recorded.";
      return { status: known ? 200 : 201, body: { success: true, clickId: id, sessionId, message } };
    },

    registration({ email: customerEmail, ...request }: RequestTo<"registration">): Answer {
      const lead = { ...request, kind: "registration", endpoint: "registration", customerEmail } as const;
      return record(lead, { clickId: request.clickId });
    },

    registrationLead(request: RequestTo<"registrationLead">): Answer {
      ownedBy(request);
      const lead = { ...request, kind: "registration", endpoint: "registrationLead" } as const;
      return record(lead, { sessionId: request.sessionId });
    },

    paymentLead(request: RequestTo<"paymentLead">): Answer {
      ownedBy(request);
      const lead = { ...request, kind: "payment", endpoint: "paymentLead" } as const;
      return record(lead, { leadValue: request.leadValue, conversionSource: "TRACKING_API" });
    },

    status(sessionId: string): Answer {
      const click = ledger.lastClickOf(sessionId);
      if (!click) return { status: 200, body: { sessionId, hasAffiliate: false } };
      const { affiliateReference, id: clickId, at: clickedAt } = click;
      return { status: 200, body: { sessionId, hasAffiliate: true, affiliateReference, clickId, clickedAt } };
    },
  } satisfies Record<EndpointName, (request: never) => Answer>;
}

/**
 * §4.2: a registration is linked by its click id. §4.3: one without, by its session. §4.4: a payment
 * by its session, otherwise by its customer's registration.
 */
function linkOf(ledger: LedgerStore, lead: NewLead): Link {
  const { kind, clickId, sessionId } = lead;
  const found = clickId ? ledger.clickOf(clickId) : sessionId ? ledger.lastClickOf(sessionId) : undefined;
  const registration = kind === "payment" ? ledger.registrationOf(lead) : undefined;
  // A shared machine: another customer registered through this click, and this one elsewhere.
  const customers = found && registration ? ledger.customersOf(found.id) : new Set();
  const isAnothers = customers.size > 0 && !customers.has(lead.customerEmail.toLowerCase());
  if (found && !isAnothers) {
    const { id: linkedClick, affiliateReference } = found;
    const linkedThrough = clickId ? "clickId" : "sessionId";
    return { linkedClick, linkedThrough, notLinked: null, affiliateReference };
  }
  if (registration && registration.linkedClick !== null) {
    const { linkedClick, affiliateReference } = registration;
    return { linkedClick, linkedThrough: "customerEmail", notLinked: null, affiliateReference };
  }
  const notLinked = found
    ? "another-visitors-click"
    : clickId
      ? "no-click-with-this-click-id"
      : sessionId
        ? "no-click-with-this-session-id"
        : "no-session-id";
  return { linkedClick: null, linkedThrough: null, notLinked, affiliateReference: null };
}
