import type { Answer } from "./attempt.js";
import { retryAfterMs } from "./retry-after.js";

/** Any 2xx, unless the body says `success: false`. */
export function isYes({ status, body }: Answer): boolean {
  return (
    status >= 200 && status < 300 && (body as { success?: unknown } | null | undefined)?.success !== false
  );
}

/** A refusal's status, and its error body (§7) if readable. `hide` removes secrets from texts. */
export function refusalOf(
  { status, body, retryAfter }: Answer,
  { now, hide }: { now: number; hide: (text: string) => string },
) {
  const { error, message } = Object(body) as Record<string, unknown>;
  const clip = (text: string) => hide(text).slice(0, 500);
  return {
    status,
    error: typeof error === "string" ? clip(error) : String(status),
    message: typeof message === "string" ? clip(message) : `the service answered ${status}`,
    retryAfterMs: retryAfterMs(retryAfter, now),
  };
}
