import { createHash } from "node:crypto";

/** The same UUID for the same payment. */
export function uuidOf(paymentId) {
  const hex = createHash("sha256").update(paymentId).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
