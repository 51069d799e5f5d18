/** What the specification leaves open, and this sandbox decides. The service may do otherwise. */
export const decisions = {
  "§2.2: A click id that comes twice": "The second click is answered as the first, and changes nothing.",
  "§2.2: Whether the browser snippet keeps a session id":
    "Its stand-in, /snippet.js, keeps one in the cookie svc_session_id and sends it with the click, unless the sandbox is started otherwise. The specification names the cookie svc_click_id alone.",
  "§2.3: leadValue; lengths and patterns of fields":
    "leadValue: a decimal amount above zero, in major units. Ids: 1 to 256 characters. E-mail addresses: one @, no spaces. URLs: absolute.",
  "§2.4: A status without an affiliate":
    "{ sessionId, hasAffiliate: false } with status 200, for unknown sessions too.",
  "§3: Which click a lead is linked to":
    "The session's last click before the lead. A click id is the client-supplied one.",
  "§3: Who is a referred customer":
    "A payment without a known session is linked through its e-mail address (in any case) to the click of that customer's last registration. A customer who registered elsewhere is not linked to a click through which only other customers registered.",
  "§4: Which success is 200 and which 201":
    "201 if something was recorded; 200 for a status and for a known click.",
  "§4: Which request fields are required":
    "Click: clientId, affiliateReference. Registration: clickId, email. Registration lead: clientId, leadType, customerEmail, sessionId. Payment lead: clientId, leadType, customerEmail, leadValue. Fields not listed are refused.",
  "§4: A lead without a click":
    "It is recorded and answered with success. The inspector says why it was not linked.",
  "§4: Repeated requests":
    "A second request to an endpoint with the same Idempotency-Key gets the first success again, marked Idempotent-Replayed. Refusals are not remembered. Without a key, every request is new.",
  "§4.3: The response of a registration lead": "As §4.2, with the session id in place of the click id.",
  "§5: Which endpoints require the API key":
    "Only the status, unless the sandbox is started otherwise. Elsewhere the key is ignored.",
  "§7: Other errors":
    "400 malformed, 404 no such path, 405 wrong method, 413 over 64 KiB, 415 not plain application/json, 422 fields missing, unknown, of a wrong type, or another program owner's clientId.",
  "§8: Rate limits, size limits and time-outs":
    "No rate limit except the fault 429. A body has up to 64 KiB and 30 seconds to arrive.",
};
