/** What the specification leaves open, and this sandbox decides. The service may do otherwise. */
interface Decision {
  /** The section of the specification. */
  readonly section: string;
  readonly open: string;
  readonly decision: string;
}

/** Every choice of this sandbox because the specification says "not shown", for the inspector. */
export const decisions: readonly Decision[] = [
  {
    section: "§2.2",
    open: "A click id that comes twice",
    decision: "The second click is answered as the first, and changes nothing.",
  },
  {
    section: "§2.2",
    open: "Whether the browser snippet keeps a session id",
    decision:
      "Its stand-in, /snippet.js, keeps one in the cookie svc_session_id and sends it with the click, unless the " +
      "sandbox is started otherwise. The specification names the cookie svc_click_id alone.",
  },
  {
    section: "§2.3",
    open: "leadValue; lengths and patterns of fields",
    decision:
      "leadValue: a decimal amount above zero, in major units. Ids: 1 to 256 characters. E-mail addresses: one @, " +
      "no spaces. URLs: absolute. No text contains NUL.",
  },
  {
    section: "§2.4",
    open: "A status without an affiliate",
    decision: "{ sessionId, hasAffiliate: false } with status 200, for unknown sessions too.",
  },
  {
    section: "§3",
    open: "Which click a lead is linked to",
    decision: "The session's last click before the lead. A click id is the client-supplied one.",
  },
  {
    section: "§3",
    open: "Who is a referred customer",
    decision:
      "A payment without a known session is linked through its e-mail address (in any case) to the click of that " +
      "customer's last registration. A customer who registered elsewhere is not linked to a click through which " +
      "only other customers registered.",
  },
  {
    section: "§4",
    open: "Which success is 200 and which 201",
    decision: "201 if something was recorded; 200 for a status and for a known click.",
  },
  {
    section: "§4",
    open: "Which request fields are required",
    decision:
      "Click: clientId, affiliateReference. Registration: clickId, email. Registration lead: clientId, leadType, " +
      "customerEmail, sessionId. Payment lead: clientId, leadType, customerEmail, leadValue. Fields not listed are " +
      "refused.",
  },
  {
    section: "§4",
    open: "A lead without a click",
    decision: "It is recorded and answered with success. The inspector says why it was not linked.",
  },
  {
    section: "§4",
    open: "Repeated requests",
    decision:
      "A second request to an endpoint with the same Idempotency-Key gets the first success again, marked " +
      "Idempotent-Replayed. Refusals are not remembered. Without a key, every request is new.",
  },
  {
    section: "§4.3",
    open: "The response of a registration lead",
    decision: "As §4.2, with the session id in place of the click id.",
  },
  {
    section: "§5",
    open: "Which endpoints require the API key",
    decision: "Only the status, unless the sandbox is started otherwise. Elsewhere the key is ignored.",
  },
  {
    section: "§7",
    open: "Other errors",
    decision:
      "400 malformed, 404 no such path, 405 wrong method, 413 over 64 KiB, 415 not plain application/json, 422 " +
      "fields missing, unknown, of a wrong type, or another program owner's clientId.",
  },
  {
    section: "§8",
    open: "Rate limits, size limits and time-outs",
    decision: "No rate limit except the fault 429. A body has up to 64 KiB and 30 seconds to arrive.",
  },
];
