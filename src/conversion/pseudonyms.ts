import { createHmac, createSecretKey, hkdfSync, randomBytes } from "node:crypto";

/** Makes a text of personal data that stands for it, and that nobody can guess without the key. */
export type Pseudonym = (personal: string) => string;

/**
 * By HMAC-SHA256 with a key derived from the API key: an event's id is shown to people who must not
 * learn an address, and kept after `erase`. Without an API key, the pseudonyms of this process.
 */
export function createPseudonyms(apiKey: string | undefined): Pseudonym {
  const secret = apiKey ?? randomBytes(32);
  const key = createSecretKey(Buffer.from(hkdfSync("sha256", secret, "", "express-affiliate event ids", 32)));
  return (personal) => createHmac("sha256", key).update(personal).digest("base64url");
}
