/**
 * The service's number for a registration or payment (§2.3): a positive integer, or its digits.
 * `undefined` if the answer has none, or one that a JavaScript number does not hold exactly.
 */
export function leadIdOf(body: unknown): number | undefined {
  const { leadId } = Object(body) as { leadId?: unknown };
  const number = typeof leadId === "string" && /^[0-9]{1,16}$/.test(leadId) ? Number(leadId) : leadId;
  return Number.isSafeInteger(number) && (number as number) > 0 ? (number as number) : undefined;
}
