import { hash } from "node:crypto";

export type Destinations = ReturnType<typeof createDestinations>;

/**
 * The destinations' numbers and names. A number is a digest of the name: so a host's transaction can store an event of a
 * destination whose row it cannot see yet, and waits for no transaction that writes the row.
 *
 * @param insert stores a name, unless it is stored.
 */
export function createDestinations(insert: (number: string, name: string) => Promise<unknown>) {
  const names = new Map<string, string>();
  const stored = new Set<string>();

  function numberOf(name: string): string {
    const number = numberFrom(name);
    names.set(number, name);
    return number;
  }

  return {
    numberOf,
    /** `null` for no name: it means all destinations. */
    numberOfAny: (name: string | undefined): string | null => (name === undefined ? null : numberOf(name)),
    /** @param read the number's name as the server has it. */
    nameOf: (number: string, read: string | null): string => names.get(number) ?? read ?? number,
    /** Whether the name is stored, as far as this process knows. */
    isStored: (name: string): boolean => stored.has(name),
    /** Stores the name, for people who read the tables. In a statement of its own, so that no other transaction waits for it. */
    async store(name: string): Promise<void> {
      await insert(numberOf(name), name);
      stored.add(name);
    },
  };
}

// 64 bits, as a bigint column has: enough for the few names that there are.
function numberFrom(name: string): string {
  return BigInt.asIntN(64, BigInt(`0x${hash("sha256", name).slice(0, 16)}`)).toString();
}
