/**
 * The service's own number for a registration or a payment (specification, section 2.3), as its answer says: a positive integer, or the
 * digits of one. `undefined` if the answer has none, or one that a number in JavaScript does not hold exactly.
 */
export function leadIdOf(body: unknown): number | undefined {
  const { leadId } = Object(body) as { leadId?: unknown };
  const number = typeof leadId === "string" && /^[0-9]{1,16}$/.test(leadId) ? Number(leadId) : leadId;
  return Number.isSafeInteger(number) && (number as number) > 0 ? (number as number) : undefined;
}
