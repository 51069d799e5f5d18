import { harmless } from "../shared/harmless.js";
import { FieldReader } from "./field-reader.js";
import type { InvalidInput } from "./invalid-input.js";
import { LONGEST_TEXT } from "./kind-row.js";
import { byKind, type EventData, type EventKind, type KindTable, rowOf } from "./kinds.js";
import { type Attribution, isTextOfNothing } from "./visitor-ids.js";

/** Reads what a host reports, or says why it is no event. */
export function dataFrom<Kind extends EventKind>(
  kind: Kind,
  input: unknown,
  ids: Attribution,
): EventData[Kind] | InvalidInput {
  if (!isReport(input)) return { invalid: "it must be an object" };
  const row: KindTable[Kind] = rowOf(kind);
  const reader = new FieldReader(input);
  const data = harmless(() => row.read(reader, ids));
  if (data === undefined) return { invalid: "it threw when it was read" };
  return reader.problems.length === 0 ? data : { invalid: reader.problems.join("; ") };
}

// The fields of each kind: what it asks an empty report for.
const NAMES = byKind((kind) => {
  const reader = new FieldReader({});
  rowOf(kind).read(reader, {});
  return reader.askedFor;
});

export function fieldNames(kind: EventKind): readonly string[] {
  return NAMES[kind];
}

/** The names of a report's fields that its kind does not have: they are not sent. */
export function unknownFields(kind: EventKind, input: unknown): string[] {
  return entriesOf(input).flatMap(([name]) => (NAMES[kind].includes(name) ? [] : [name]));
}

/** The ids in a report that are ignored, with what each is. */
export function ignoredIds(kind: EventKind, input: unknown): { name: string; id: unknown }[] {
  return entriesOf(input).flatMap(([name, id]) => {
    const isVisitors = VISITORS.includes(name) && NAMES[kind].includes(name);
    const isIgnored = name.endsWith("Id") && isTextOfNothing(id);
    return isIgnored || (isVisitors && typeof (id ?? "") !== "string") ? [{ name, id }] : [];
  });
}

const VISITORS = ["clickId", "sessionId"];

/** The host's own name for a conversion, for a log line. */
export function ownIdIn(input: unknown): string | undefined {
  const reader = new FieldReader(Object(input));
  const names = ["paymentId", "customerId"];
  return harmless(() => names.map((name) => reader.optionalHostId(name, LONGEST_TEXT)).find(Boolean));
}

function entriesOf(input: unknown): [string, unknown][] {
  return isReport(input) ? (harmless(() => Object.entries(input)) ?? []) : [];
}

function isReport(input: unknown): input is object {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}
