// A stand-in for the tracking service's browser snippet, served by the sandbox. On a page that an
// affiliate's link led to (?ref=CODE) it mints the click's id and the session's, keeps both in
// first-party cookies, and reports the click. The session's is a decision of the sandbox, which
// serves `keepsSession = false` if `snippetSession` is off.
//
//   <script src="http://127.0.0.1:4010/snippet.js" data-client-id="1001" defer></script>
//
// The client id may also stand in the page-level variable `svcClientId`, set before.
(function trackClick() {
  const keepsSession = true;
  const script = document.currentScript;
  const clientId = Number(script.dataset.clientId ?? window.svcClientId);
  const page = new URL(location.href);
  const affiliateReference = page.searchParams.get("ref");
  if (!affiliateReference) return;
  if (!Number.isInteger(clientId))
    return console.warn("snippet.js: no client id; set data-client-id on its script tag");

  // A landing page that is reloaded is not a second click.
  const clicked = cookie("svc_click_id") && sessionStorage.getItem("svc_ref") === affiliateReference;
  if (clicked) return;
  sessionStorage.setItem("svc_ref", affiliateReference);

  const clickId = newId();
  const sessionId = keepsSession ? (cookie("svc_session_id") ?? newId()) : undefined;
  keep("svc_click_id", clickId);
  if (sessionId) keep("svc_session_id", sessionId);

  const click = {
    clientId,
    affiliateReference,
    clickId,
    sessionId,
    clickedUrl: page.href,
    referrerUrl: document.referrer || undefined,
    userAgent: navigator.userAgent,
    source: page.searchParams.get("utm_source") ?? undefined,
  };
  fetch(new URL("/api/v1/tracking/click", script.src), {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": clickId },
    body: JSON.stringify(click),
    credentials: "omit",
    // The visitor may leave the page before the answer comes.
    keepalive: true,
  }).catch((error) => console.warn("snippet.js: the click was not reported:", error.message));

  function cookie(name) {
    const pairs = document.cookie.split("; ").map((pair) => pair.split("="));
    return pairs.find(([key]) => key === name)?.[1];
  }

  function keep(name, value) {
    const secure = location.protocol === "https:" ? "; Secure" : "";
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not everywhere
    document.cookie = `${name}=${value}; Path=/; Max-Age=${90 * 24 * 60 * 60}; SameSite=Lax${secure}`;
  }

  // Not randomUUID, which plain-http pages other than localhost do not have.
  function newId() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
      byte.toString(16).padStart(2, "0"),
    ).join("");
  }
})();
