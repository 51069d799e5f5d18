import type { IncomingMessage } from "node:http";
import type { OutboxEvent } from "express-affiliate";

const ID = /^[\x21-\x7e]{1,256}$/;
const REFERENCE = /^(?!\s)[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u2800\ufffd]{1,256}(?<!\s)$/u;
const OUR_COOKIE =
  /^svc_(click|session)_id=[\x21-\x7e]{1,400}; Max-Age=\d+; Path=\/; Expires=[^;]+;( HttpOnly;)?( Secure;)? SameSite=Lax$/;

/** What is wrong with an event that a stranger's input has become. */
export function problemsWith(event: OutboxEvent): string[] {
  const data = event.data as object as Record<string, unknown>;
  const wrong = (what: string) => `${what} in ${JSON.stringify(event).slice(0, 500)}`;
  const problems: string[] = [];
  for (const [name, form] of Object.entries({ clickId: ID, sessionId: ID, affiliateReference: REFERENCE })) {
    const text = data[name];
    if (text !== undefined && (typeof text !== "string" || !form.test(text))) problems.push(wrong(name));
  }
  if (!/^[0-9a-f]{32}$/.test(event.id)) problems.push(wrong("id"));
  if (JSON.stringify(JSON.parse(JSON.stringify(event))) !== JSON.stringify(event))
    problems.push(wrong("JSON"));
  if (event.kind === "payment" && !(event.data.leadValue > 0 && Number.isFinite(event.data.leadValue)))
    problems.push(wrong("leadValue"));
  if (event.kind !== "click" && !/^[^\s@]+@[^\s@]+$/.test(String(data.email ?? data.customerEmail)))
    problems.push(wrong("e-mail address"));
  return problems;
}

/**
 * What is wrong with the answer that a stranger's request got. To a prefetch `onClick` answers 503,
 * so that the browser asks again when it shows the page.
 */
export function problemsWithAnswer(
  { statusCode = 0, headers }: IncomingMessage,
  request: string,
  isPrefetch: boolean,
): string[] {
  const problems: string[] = [];
  const isPutOff = isPrefetch && statusCode === 503 && headers["cache-control"] === "no-store";
  if (statusCode >= 500 && !isPutOff) problems.push(`answered ${statusCode}: ${request}`);
  const ours = (headers["set-cookie"] ?? []).filter((cookie) => cookie.startsWith("svc_"));
  if (ours.some((cookie) => !OUR_COOKIE.test(cookie))) problems.push(`the cookies ${ours}: ${request}`);
  if (ours.length > 0 && !/^(private|no-store)\b/.test(headers["cache-control"] ?? ""))
    problems.push(`public, with cookies: ${request}`);
  return problems;
}
