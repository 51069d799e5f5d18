import type * as z from "zod/mini";
import { OptionsError } from "./errors.js";
import { nearestWord } from "./nearest.js";
import { shown } from "./printable.js";

// Others may be a key in the wrong option.
const NO_KEY = /^(?:\D{0,12}|\d{0,12}|.{0,4})$/;
const NEVER_SHOWN = ["apiKey", "baseUrl", "proxy", "signed"];
const LIKE_AN_OPTION = /^[a-z]+(?:[A-Z][a-z]+)*$/;

/** A schema's fields for `Options`: exactly one for each. */
export type SchemaOf<Options> = { [Option in keyof Options]-?: z.ZodMiniType<unknown, Options[Option]> };

/**
 * Reads the options of a factory by a schema, and fills in defaults.
 *
 * @throws OptionsError that lists all mistakes: what is wrong, what arrived, what to do.
 */
export function readOptions<Schema extends z.ZodMiniObject>(
  factory: string,
  schema: Schema,
  options: unknown,
): Readonly<z.output<Schema>> {
  const read = schema.safeParse(options, { reportInput: true });
  if (read.success) return Object.freeze(read.data);
  const { issues } = read.error;
  const unknown = issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [],
  );
  const problems = [
    ...issues.filter(({ code }) => code !== "unrecognized_keys").map(wrongOption),
    ...unknown.map((path) => unknownOption(path, namesAt(schema, path.slice(0, -1)))),
  ];
  throw new OptionsError(factory, problems);
}

function wrongOption({ path, message, input }: z.core.$ZodIssue): string {
  if (path.length === 0) return "options must be an object";
  if (input === undefined) return `\`${path.join(".")}\` is required: it ${message}`;
  const got = NEVER_SHOWN.includes(String(path[0])) ? "" : `, got ${briefly(input)}`;
  return `\`${path.join(".")}\` ${message}${got}`;
}

function briefly(input: unknown): string {
  const mayBeKey = typeof input === "string" && !NO_KEY.test(input);
  return mayBeKey ? `a string of ${input.length} characters` : shown(input);
}

function unknownOption(path: readonly PropertyKey[], names: string[]): string {
  const key = String(path.at(-1));
  const suggestion = nearestWord(key, names);
  const isShown = suggestion !== undefined || LIKE_AN_OPTION.test(key);
  const name = isShown ? `\`${path.join(".")}\`` : `a name of ${key.length} characters`;
  return `${name} is not an option; ${
    suggestion
      ? `did you mean \`${suggestion}\`?`
      : `there are ${names.map((name) => `\`${name}\``).join(", ")}`
  }`;
}

function namesAt(schema: z.ZodMiniType, path: readonly PropertyKey[]): string[] {
  type Def = { innerType?: z.ZodMiniType; shape?: Record<string, z.ZodMiniType> } | undefined;
  let def = schema.def as Def;
  for (const key of ["", ...path.map(String)]) {
    if (key) def = def?.shape?.[key]?.def as Def;
    // Of a default, or an optional field.
    while (def?.innerType) def = def.innerType.def as Def;
  }
  return Object.keys(def?.shape ?? {});
}
