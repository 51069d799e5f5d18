import type { EndpointName, RequestTo } from "./endpoints.js";
import { type Answer, Refused } from "./http.js";
import type { Link, LinkedThrough, NotLinked } from "./ledger/entries.js";
import type { LedgerStore } from "./ledger/ledger.js";
import type { NewLead } from "./ledger/tables.js";

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

  function record(lead: NewLead, link: Link, echoed: object): Answer {
    const { id, affiliateReference } = ledger.addLead(lead, link);
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
      const known = clickId === undefined ? undefined : ledger.tables.clicks.ofClickId(clickId);
      const { id } = known ?? ledger.addClick(request);
      const message = known ? "This click was recorded before." : "Click recorded.";
      return { status: known ? 200 : 201, body: { success: true, clickId: id, sessionId, message } };
    },

    registration({ email, ...request }: RequestTo<"registration">): Answer {
      const { clickId } = request;
      const lead = {
        ...request,
        kind: "registration",
        endpoint: "registration",
        customerEmail: email,
      } as const;
      return record(lead, linkByClickId(ledger.tables, clickId), { clickId });
    },

    registrationLead(request: RequestTo<"registrationLead">): Answer {
      ownedBy(request);
      const { sessionId } = request;
      const lead = { ...request, kind: "registration", endpoint: "registrationLead" } as const;
      return record(lead, linkBySession(ledger.tables, sessionId), { sessionId });
    },

    paymentLead(request: RequestTo<"paymentLead">): Answer {
      ownedBy(request);
      const { customerEmail, leadValue, sessionId } = request;
      const lead = { ...request, kind: "payment", endpoint: "paymentLead" } as const;
      const link = linkPayment(ledger.tables, customerEmail, sessionId);
      return record(lead, link, { leadValue, conversionSource: "TRACKING_API" });
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

type Past = Pick<LedgerStore["tables"], "clicks" | "leads">;

/** §4.2: "links the registration to the affiliate click". */
function linkByClickId({ clicks }: Past, clickId: string): Link {
  return linked(clicks.ofClickId(clickId)?.id, "clickId") ?? unlinked("no-click-with-this-click-id");
}

/** §4.3: "registration tracking identified by session id". */
function linkBySession({ clicks }: Past, sessionId: string): Link {
  return linked(clicks.ofSession(sessionId)?.id, "sessionId") ?? unlinked("no-click-with-this-session-id");
}

/** §4.4: by the session that the payment came with, otherwise by its customer's registration. */
function linkPayment({ clicks, leads }: Past, customerEmail: string, sessionId: string | undefined): Link {
  const registration = leads.registrationOf(customerEmail);
  const throughCustomer = linked(registration?.click ?? undefined, "customerEmail");
  if (sessionId === undefined) return throughCustomer ?? unlinked("no-session-id");
  const click = clicks.ofSession(sessionId)?.id;
  if (click === undefined) return throughCustomer ?? unlinked("no-click-with-this-session-id");

  // A shared machine: another customer registered through this click, and this one elsewhere.
  const customers = leads.customersOf(click);
  if (registration && customers.length > 0 && !customers.includes(customerEmail.toLowerCase()))
    return throughCustomer ?? unlinked("another-visitors-click");
  return { linkedClick: click, linkedThrough: "sessionId", notLinked: null };
}

function linked(click: number | undefined, linkedThrough: LinkedThrough): Link | undefined {
  return click === undefined ? undefined : { linkedClick: click, linkedThrough, notLinked: null };
}

function unlinked(notLinked: NotLinked): Link {
  return { linkedClick: null, linkedThrough: null, notLinked };
}
