import type {
  ClickRequest,
  EndpointName,
  PaymentLeadRequest,
  RegistrationLeadRequest,
  RegistrationRequest,
} from "./endpoints.js";
import { type Answer, Refused } from "./http.js";
import type { LedgerStore } from "./ledger/ledger.js";
import { linkByClickId, linkBySession, linkPayment } from "./linking.js";

/** The five endpoints of §4, as functions from a validated request to its answer. */
export type Service = ReturnType<typeof createService>;

/** The service of the specification, for one program owner. */
export function createService(ledger: LedgerStore, clientId: number) {
  function ownedBy(request: { clientId: number }): void {
    if (request.clientId === clientId) return;
    throw new Refused(
      422,
      `clientId: no program owner has ${request.clientId}; this sandbox's is ${clientId}.`,
    );
  }

  return {
    click(request: ClickRequest): Answer {
      ownedBy(request);
      const { clickId, sessionId } = request;
      const known = clickId === undefined ? undefined : ledger.tables.clicks.ofClickId(clickId);
      const { id } = known ?? ledger.addClick(request);
      const message = known ? "This click was recorded before." : "Click recorded.";
      return { status: known ? 200 : 201, body: { success: true, clickId: id, sessionId, message } };
    },

    registration({ email, ...request }: RegistrationRequest): Answer {
      const lead = {
        ...request,
        kind: "registration",
        endpoint: "registration",
        customerEmail: email,
      } as const;
      const { id, affiliateReference } = ledger.addLead(lead, linkByClickId(ledger.past, request.clickId));
      const message = recorded("Registration", affiliateReference);
      return { status: 201, body: { success: true, leadId: id, clickId: request.clickId, message } };
    },

    registrationLead(request: RegistrationLeadRequest): Answer {
      ownedBy(request);
      const { customerEmail, customerName, sessionId } = request;
      const lead = {
        kind: "registration",
        endpoint: "registrationLead",
        customerEmail,
        customerName,
        sessionId,
      } as const;
      const { id, affiliateReference } = ledger.addLead(lead, linkBySession(ledger.past, sessionId));
      const message = recorded("Registration", affiliateReference);
      return { status: 201, body: { success: true, leadId: id, sessionId, message } };
    },

    paymentLead(request: PaymentLeadRequest): Answer {
      ownedBy(request);
      const { customerEmail, leadValue, sessionId } = request;
      const lead = { kind: "payment", endpoint: "paymentLead", customerEmail, leadValue, sessionId } as const;
      const { id, affiliateReference } = ledger.addLead(
        lead,
        linkPayment(ledger.past, customerEmail, sessionId),
      );
      const message = recorded("Payment", affiliateReference);
      return {
        status: 201,
        body: { success: true, leadId: id, leadValue, conversionSource: "TRACKING_API", message },
      };
    },

    status(sessionId: string): Answer {
      const click = ledger.tables.clicks.ofSession(sessionId);
      if (!click) return { status: 200, body: { sessionId, hasAffiliate: false } };
      const { affiliateReference, id, at } = click;
      return {
        status: 200,
        body: { sessionId, hasAffiliate: true, affiliateReference, clickId: id, clickedAt: at },
      };
    },
  } satisfies Record<EndpointName, (request: never) => Answer>;
}

function recorded(what: string, affiliateReference: string | null): string {
  return affiliateReference === null
    ? `${what} recorded, linked to no click.`
    : `${what} recorded for affiliate ${affiliateReference}.`;
}
