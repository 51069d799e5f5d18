import { parseArgs } from "node:util";

type Value = string | number | boolean;
type Widened<T extends Value> = T extends string ? string : T extends number ? number : boolean;

/** A command line's words, and options of their defaults' types. A number is a positive integer. */
export function commandLine<Defaults extends Readonly<Record<string, Value>>>(defaults: Defaults) {
  const { values, positionals } = parseArgs({
    options: Object.fromEntries(
      Object.entries(defaults).map(([name, value]) => [
        name,
        { type: typeof value === "boolean" ? ("boolean" as const) : ("string" as const) },
      ]),
    ),
    allowPositionals: true,
  });
  const options = Object.entries(defaults).map(([name, otherwise]) => {
    const given = values[name] ?? otherwise;
    return [name, typeof otherwise === "number" ? numberOf(name, given) : given];
  });
  return {
    options: Object.fromEntries(options) as { readonly [Name in keyof Defaults]: Widened<Defaults[Name]> },
    words: positionals,
  };
}

function numberOf(name: string, given: unknown): number {
  const number = Number(given);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`--${name} must be a positive integer, got ${given}`);
}
