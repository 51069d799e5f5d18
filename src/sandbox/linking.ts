import type { Link, LinkedThrough, NotLinked } from "./ledger/entries.js";
import type { LedgerStore } from "./ledger/ledger.js";

type Past = Pick<LedgerStore["tables"], "clicks" | "leads">;

/** §4.2: "links the registration to the affiliate click". */
export function linkByClickId({ clicks }: Past, clickId: string): Link {
  return linked(clicks.ofClickId(clickId)?.id, "clickId") ?? unlinked("no-click-with-this-click-id");
}

/** §4.3: "registration tracking identified by session id". */
export function linkBySession({ clicks }: Past, sessionId: string): Link {
  return linked(clicks.ofSession(sessionId)?.id, "sessionId") ?? unlinked("no-click-with-this-session-id");
}

/** §4.4: by the session that the payment came with, otherwise by its customer's registration. */
export function linkPayment(
  { clicks, leads }: Past,
  customerEmail: string,
  sessionId: string | undefined,
): Link {
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
