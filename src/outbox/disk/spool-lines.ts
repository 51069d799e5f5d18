import { crc32 } from "node:zlib";
import type { EventKind, OutboxEvent } from "../../events.js";
import { LEAST_URGENT_FIRST } from "../../kinds.js";
import { objectFromJson } from "../../shared/json.js";
import { isEventId } from "./rows.js";

// Far longer than any event: each of its fields has a length.
const LONGEST_LINE = 1024 * 1024;
const NEWLINE = 0x0a;

/** An event as one line of a spool file: a checksum and JSON. */
export function lineOf(event: OutboxEvent): string {
  const json = JSON.stringify(event);
  return `${crc32(json).toString(16)} ${json}\n`;
}

/** `undefined` if the line was not written whole, or holds no event. Anything may stand in a file. */
export function eventFromLine(line: string): OutboxEvent | undefined {
  const [, checksum, json = ""] = /^([0-9a-f]{1,8}) (.*)$/.exec(line) ?? [];
  if (checksum === undefined || crc32(json) !== Number.parseInt(checksum, 16)) return undefined;
  const event = objectFromJson(json) as OutboxEvent | undefined;
  return event && isSound(event) ? event : undefined;
}

function isSound({ id, destination, kind, createdAt, data }: Partial<OutboxEvent>): boolean {
  if (!isEventId(id) || !LEAST_URGENT_FIRST.includes(kind as EventKind)) return false;
  if (!Number.isSafeInteger(destination) || !Number.isSafeInteger(createdAt)) return false;
  if (typeof data !== "object" || data === null || Array.isArray(data)) return false;
  return [data.clickId, data.sessionId].every((each) => each === undefined || typeof each === "string");
}

/**
 * The lines of a file. The last may have no end. Of a line that is too long, a part comes, so that memory is bounded.
 *
 * @param read returns the next bytes, and none at the end.
 */
export function* linesOf(read: () => Uint8Array): Generator<string> {
  let begun: Buffer[] = [];
  let length = 0;
  const end = (last: Uint8Array): string => {
    const line = Buffer.concat([...begun, last]).toString();
    begun = [];
    length = 0;
    return line;
  };
  for (let chunk = read(); chunk.length > 0; chunk = read()) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      yield end(chunk.subarray(from, at));
      from = at + 1;
    }
    const rest = chunk.subarray(from);
    length += rest.length;
    // A copy: the next bytes may come in the same buffer.
    if (rest.length > 0 && length <= LONGEST_LINE) begun.push(Buffer.from(rest));
  }
  if (length > 0) yield end(new Uint8Array());
}
