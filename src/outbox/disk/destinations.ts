import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  find: "select number from destinations where name = ?",
  add: "insert into destinations (name) values (?) returning number",
  name: "select name from destinations where number = ?",
} as const;

export type Destinations = ReturnType<typeof createDestinations>;

/** The destinations of a file's events, each of which has a number there. */
export function createDestinations(db: Database) {
  const { find, add, name } = prepareAll(db, STATEMENTS);
  const numbers = new Map<string, number>();
  const names = new Map<number, string>();

  return {
    /** A destination that is new gets the next number. */
    numberOf(destination: string): number {
      const known = numbers.get(destination);
      if (known !== undefined) return known;
      const { number } = find.get(destination) ?? add.get(destination);
      numbers.set(destination, number);
      return number;
    },
    nameOf(number: number): string {
      const known = names.get(number) ?? (name.get(number).name as string);
      names.set(number, known);
      return known;
    },
    /** A transaction was rolled back, and with it the numbers that were new. */
    forget(): void {
      numbers.clear();
      names.clear();
    },
  };
}
