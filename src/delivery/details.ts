import type { OutboxEvent } from "../conversion/events.js";
import { refusalOf } from "../service/answer.js";
import type { Attempt } from "../service/attempt.js";
import { ProxyError } from "../service/proxy-tunnels.js";
import { errorCodeOf } from "../shared/errors.js";
import { withoutVisitor } from "./redaction.js";

/** What the service or Node said of an attempt, for listeners and dead letters. */
export interface Details {
  readonly status?: number;
  readonly code: string;
  readonly message: string;
}

/** Shows no secret and no visitor. Without an `event`, only the status endpoint was asked. */
export function detailsOf(
  attempt: Attempt,
  event: OutboxEvent | undefined,
  { hide, now }: { hide: (text: string) => string; now: number },
): Details {
  if (attempt.type === "answer") {
    const hideAll = (text: string) => (event ? withoutVisitor(hide(text), event) : hide(text));
    const { status, error, message } = refusalOf(attempt, { now, hide: hideAll });
    return { status, code: error, message };
  }
  const { error } = attempt;
  const code = errorCodeOf(error);
  const said = hide(error.message || code);
  const cause = error instanceof ProxyError ? error.cause : undefined;
  const advice = cause instanceof Error ? tlsAdvice(errorCodeOf(cause), "proxy") : tlsAdvice(code);
  return { code, message: advice ? `${said}: ${advice}` : said };
}

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
