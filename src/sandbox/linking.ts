/** Why a registration or a payment was linked to no click. */
export type NotLinked =
  | "no-click-with-this-click-id"
  | "no-click-with-this-session-id"
  | "no-session-id"
  | "click-came-after"
  | "another-visitors-click";

/** What a lead was linked through. */
export type LinkedThrough = "clickId" | "sessionId" | "customerEmail";

/** To which click a lead belongs, by the service's numeric id, or why to none. */
export type Link =
  | { click: number; linkedThrough: LinkedThrough; notLinked: null }
  | { click: null; linkedThrough: null; notLinked: NotLinked };

/** What linking needs to know of the past. */
export interface Past {
  clickOfClickId(clickId: string): number | undefined;
  /** The last click of that session. */
  clickOfSession(sessionId: string): number | undefined;
  /** The last registration of that customer: its click, null if it was linked to none; undefined: never registered. */
  registrationOf(customerEmail: string): { click: number | null } | undefined;
  /** Whether that customer, and whether another one, registered through that click. */
  registeredThrough(click: number, customerEmail: string): { self: boolean; others: boolean };
}

/** §4.2: "links the registration to the affiliate click". */
export function linkByClickId(past: Past, clickId: string): Link {
  return linked(past.clickOfClickId(clickId), "clickId") ?? unlinked("no-click-with-this-click-id");
}

/** §4.3: "registration tracking identified by session id". */
export function linkBySession(past: Past, sessionId: string): Link {
  return linked(past.clickOfSession(sessionId), "sessionId") ?? unlinked("no-click-with-this-session-id");
}

/** §4.4: a payment by a referred customer; by the session it came with, else by the customer's own registration. */
export function linkPayment(past: Past, customerEmail: string, sessionId: string | undefined): Link {
  const click = sessionId === undefined ? undefined : past.clickOfSession(sessionId);
  const registration = past.registrationOf(customerEmail);
  const throughCustomer = linked(registration?.click ?? undefined, "customerEmail");

  if (click === undefined) {
    return (
      throughCustomer ?? unlinked(sessionId === undefined ? "no-session-id" : "no-click-with-this-session-id")
    );
  }
  // A shared machine: another customer registered through the session's click, and this customer did so elsewhere.
  const { self, others } = past.registeredThrough(click, customerEmail);
  if (registration && others && !self) {
    return throughCustomer ?? unlinked("another-visitors-click");
  }
  return { click, linkedThrough: "sessionId", notLinked: null };
}

function linked(click: number | undefined, linkedThrough: LinkedThrough): Link | undefined {
  return click === undefined ? undefined : { click, linkedThrough, notLinked: null };
}

function unlinked(notLinked: NotLinked): Link {
  return { click: null, linkedThrough: null, notLinked };
}
