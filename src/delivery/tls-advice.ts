// OpenSSL's names for what is wrong with a certificate or a handshake, as Node passes them on.
const ADVICE: readonly [codes: RegExp, advice: string][] = [
  [/^CERT_HAS_EXPIRED$/, "the service's certificate has expired, and the service has to renew it"],
  [/^CERT_NOT_YET_VALID$/, "the service's certificate is not valid yet: check the clocks of both machines"],
  [
    /^(ERR_TLS_CERT_ALTNAME_\w+|HOSTNAME_MISMATCH)$/,
    "the service's certificate is for another name: `baseUrl` must have the name that the certificate is for",
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|INVALID_CA|CERT_UNTRUSTED)$/,
    "this machine does not know the authority that signed the service's certificate: name it by NODE_EXTRA_CA_CERTS",
  ],
  [/^CERT_/, "the service's certificate cannot be trusted"],
  [
    /^(ERR_SSL_\w+|EPROTO)$/,
    "there is no TLS in common: the service speaks a version that is too old, or no TLS at this port",
  ],
];

/** What to do about a connection that failed with this code; `undefined` if TLS did not fail. */
export function tlsAdvice(code: string, peer: "service" | "proxy" = "service"): string | undefined {
  const advice = ADVICE.find(([codes]) => codes.test(code))?.[1];
  return peer === "service"
    ? advice
    : advice?.replaceAll("the service", "the proxy").replace("`baseUrl`", "`proxy`");
}
