import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "../shared/secret.js";

/** Signs and verifies cookies: HMAC-SHA256 over the cookie's name and value. */
export interface Signatures {
  /** `value.signature`, with the first secret. */
  sign(name: string, value: string): string;
  /** The value, where one of the secrets has signed it for a cookie of this name. */
  verified(name: string, signed: string): string | undefined;
}

/** `secrets`: the first signs, and all verify, so that secrets can be rotated. */
export function createSignatures(secrets: readonly Secret[]): Signatures {
  const [newest] = secrets;

  return {
    sign(name, value) {
      return newest ? `${value}.${signatureOf(newest, name, value)}` : value;
    },
    verified(name, signed) {
      const dot = signed.lastIndexOf(".");
      const value = signed.slice(0, Math.max(dot, 0));
      const given = Buffer.from(signed.slice(dot + 1));
      const isGenuine = secrets.some((secret) => {
        const expected = Buffer.from(signatureOf(secret, name, value));
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
      return isGenuine ? value : undefined;
    },
  };
}

// Over the name, too: otherwise a signed session id would pass for a click id.
function signatureOf(secret: Secret, name: string, value: string): string {
  return createHmac("sha256", secret.reveal()).update(`${name}=${value}`).digest("base64url");
}
