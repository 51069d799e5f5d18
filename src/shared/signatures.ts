import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Secret } from "./secret.js";

export type Signatures = ReturnType<typeof createSignatures>;

// A key of its own: the host may sign other cookies with the same secret.
const PURPOSE = "express-affiliate: the cookies of onClick";

const SIGNED = /^(.+)\.([0-9a-z]{1,9})-([0-9a-z]{1,9})\.([\w-]{43})$/s;

/**
 * Cookies' signatures: HMAC-SHA256 over name, value, time of issue and age. The first secret signs,
 * and all verify, so that secrets can be rotated.
 */
export function createSignatures(secrets: readonly Secret[], now: () => number = Date.now) {
  const keys = secrets.map((secret) => Buffer.from(hkdfSync("sha256", secret.reveal(), "", PURPOSE, 32)));

  return {
    /** `value.issue-age.signature`. @param maxAgeMs how long it is valid. */
    sign(name: string, value: string, maxAgeMs: number): string {
      const text = `${value}.${now().toString(36)}-${maxAgeMs.toString(36)}`;
      return `${text}.${signatureOf(keys[0] as Buffer, name, text).toString("base64url")}`;
    },
    /** The value, if one of the secrets signed it for this name and it is still valid. */
    verified(name: string, signed: string): string | undefined {
      const [, value = "", issuedAt = "", age = "", given] = SIGNED.exec(signed) ?? [];
      if (given === undefined) return undefined;
      if (now() - Number.parseInt(issuedAt, 36) >= Number.parseInt(age, 36)) return undefined;
      // As long as a genuine one: it has 43 characters.
      const signature = Buffer.from(given, "base64url");
      const text = `${value}.${issuedAt}-${age}`;
      const isGenuine = keys.some((key) => timingSafeEqual(signatureOf(key, name, text), signature));
      return isGenuine ? value : undefined;
    },
  };
}

// With the name: otherwise a signed session id would pass as a click id.
function signatureOf(key: Buffer, name: string, text: string): Buffer {
  return createHmac("sha256", key).update(`${name}=${text}`).digest();
}
