import type { z } from "zod";
import { OptionsError } from "./errors.js";
import { nearestWord } from "./nearest.js";
import { shown } from "./printable.js";

// The values of these may be secret, so an error does not repeat them.
const LONGEST_SHOWN = 12;
const NEVER_SHOWN = new Set(["apiKey", "baseUrl", "proxy", "signed"]);

/** The fields of a schema for `Options`: exactly one for each option. */
export type SchemaOf<Options> = { [Option in keyof Options]-?: z.ZodType<unknown, Options[Option]> };

/**
 * Reads options by a schema, and fills in defaults.
 *
 * @param factory the name of the function that takes the options, for the message.
 * @throws OptionsError that lists all mistakes: what is wrong, what arrived, what to do.
 */
export function readOptions<Schema extends z.ZodObject>(
  factory: string,
  schema: Schema,
  options: unknown,
): Readonly<z.output<Schema>> {
  const read = schema.safeParse(options, { reportInput: true });
  if (read.success) return Object.freeze(read.data);
  const problems = read.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => unknownOption([...issue.path, key], namesAt(schema, issue.path)))
      : [wrongOption(issue)],
  );
  throw new OptionsError(factory, problems);
}

function wrongOption({ path, message, input }: z.core.$ZodIssue): string {
  if (path.length === 0) return "options must be an object";
  if (input === undefined) return `\`${path.join(".")}\` is required: it ${message}`;
  const got = NEVER_SHOWN.has(String(path[0])) ? "" : `, got ${briefly(input)}`;
  return `\`${path.join(".")}\` ${message}${got}`;
}

/** A long text may be a key in the wrong option, so only its length is shown. */
function briefly(input: unknown): string {
  const isLong = typeof input === "string" && input.length > LONGEST_SHOWN;
  return isLong ? `a string of ${input.length} characters` : shown(input);
}

function unknownOption(path: PropertyKey[], names: string[]): string {
  const key = String(path.at(-1));
  const suggestion = nearestWord(key, names);
  const name = /^\w{1,32}$/.test(key) ? `\`${path.join(".")}\`` : "what has no option's name";
  return `${name} is not an option; ${
    suggestion
      ? `did you mean \`${suggestion}\`?`
      : `there are ${names.map((name) => `\`${name}\``).join(", ")}`
  }`;
}

function namesAt(schema: z.ZodType, path: PropertyKey[]): string[] {
  let at = schema as z.ZodType & { unwrap?: () => z.ZodType; shape?: Record<string, z.ZodType> };
  for (const key of ["", ...path.map(String)]) {
    if (key) at = at.shape?.[key] as typeof at;
    while (at?.unwrap) at = at.unwrap() as typeof at;
  }
  return Object.keys(at?.shape ?? {});
}
