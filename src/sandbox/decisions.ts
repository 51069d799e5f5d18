/** What the specification leaves open, and what this sandbox does there. The real service may do otherwise. */
export interface Decision {
  /** The section of the specification. */
  readonly section: string;
  readonly open: string;
  readonly decision: string;
}

/** Every choice that this sandbox made where the specification says "not shown". The inspector shows them. */
export const decisions: readonly Decision[] = [
  {
    section: "§2.2",
    open: "Whether a click id may come twice",
    decision:
      "A client-supplied click id names one click: a second one is answered with the first, and changes nothing.",
  },
  {
    section: "§2.3",
    open: "Currency and unit of leadValue; lengths and patterns of fields",
    decision:
      "leadValue is a decimal amount above zero in major units. Ids are strings of 1 to 256 characters, e-mail addresses " +
      "have one @ and no spaces, URLs are absolute. No text contains NUL.",
  },
  {
    section: "§2.4",
    open: "The other fields of a status without an affiliate",
    decision:
      "They are left out: { sessionId, hasAffiliate: false }, with status 200 for unheard-of sessions too.",
  },
  {
    section: "§3",
    open: "Which click a lead is linked to",
    decision:
      "Only a click that came before it. Of several clicks in one session, the last. A click id is the client-supplied one.",
  },
  {
    section: "§3",
    open: "Who is a referred customer",
    decision:
      "A payment without a session, or from an unknown one, is linked through its e-mail address (in any case) to the " +
      "click of that customer's last registration. Who registered elsewhere is not linked to a click through which only " +
      "other customers registered.",
  },
  {
    section: "§4",
    open: "Which success is 200 and which 201",
    decision: "201 where something was recorded, 200 for the status and for a click that was known already.",
  },
  {
    section: "§4",
    open: "Which request fields are required",
    decision:
      "Click: clientId, affiliateReference. Registration: clickId, email. Registration lead: clientId, leadType, " +
      "customerEmail, sessionId. Payment lead: clientId, leadType, customerEmail, leadValue. Fields not listed are refused.",
  },
  {
    section: "§4",
    open: "What happens to a lead that belongs to no click",
    decision: "It is recorded and answered with success; the inspector says why it was not linked.",
  },
  {
    section: "§4",
    open: "Repeated requests",
    decision:
      "An Idempotency-Key is remembered for each endpoint with its success, and answered with it again, marked " +
      "Idempotent-Replayed. Refusals are not remembered. Without a key, every request is a new one.",
  },
  {
    section: "§4.3",
    open: "The response of a registration lead",
    decision: "As §4.2, with the session id in place of the click id.",
  },
  {
    section: "§5",
    open: "Which endpoints require the API key",
    decision: "The status alone, unless the sandbox is started otherwise. Elsewhere a key is not looked at.",
  },
  {
    section: "§7",
    open: "The other errors",
    decision:
      "400 malformed, 404 no such path, 405 wrong method, 413 over 64 KiB, 415 not plain application/json, 422 fields " +
      "missing, unknown, of a wrong type, or another program owner's clientId.",
  },
  {
    section: "§8",
    open: "Rate limits, size limits and time-outs",
    decision: "No rate limit but the fault button's 429. A body has up to 64 KiB and 30 seconds to arrive.",
  },
];
