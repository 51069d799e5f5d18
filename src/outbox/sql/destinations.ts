import { hash } from "node:crypto";

export type Destinations = ReturnType<typeof createDestinations>;

/**
 * The destinations' numbers and names. A number is made of its name: so a host's transaction can store an event of a
 * destination whose row is not there yet, or not visible to it, and waits for no other transaction that writes the row.
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
    /** `null` of none: it stands for all. */
    numberOfAny: (name: string | undefined): string | null => (name === undefined ? null : numberOf(name)),
    /** @param read what the server knows as the number's name. */
    nameOf: (number: string, read: string | null): string => names.get(number) ?? read ?? number,
    /** Whether the name is stored, as far as this process knows. */
    isStored: (name: string): boolean => stored.has(name),
    /** Stores the name, for those who read the tables. In a statement of its own: no other transaction waits for it. */
    async store(name: string): Promise<void> {
      await insert(numberOf(name), name);
      stored.add(name);
    },
  };
}

// 64 bits, as a bigint column holds them: no two of the few names that there are share them.
function numberFrom(name: string): string {
  return BigInt.asIntN(64, BigInt(`0x${hash("sha256", name).slice(0, 16)}`)).toString();
}
