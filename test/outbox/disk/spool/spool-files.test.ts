import fc from "fast-check";
import { expect, test } from "vitest";
import { eventFromLine, lineOf, linesOf } from "../../../../src/outbox/disk/spool/spool-files.js";
import { sample } from "../../../contract/samples.js";
import { anyCharacter } from "../../../helpers/any-character.js";

const NEWLINE = Buffer.from("\n");

/** All events that can be read in a file of these bytes, read so many at a time, in one buffer. */
function eventsIn(file: Buffer, atOnce: number) {
  const buffer = Buffer.alloc(atOnce);
  let at = 0;
  const read = () => {
    const count = file.copy(buffer, 0, at);
    at += count;
    return buffer.subarray(0, count);
  };
  return [...linesOf(read)].map(eventFromLine).filter((event) => event !== undefined);
}

const noLine = fc
  .uint8Array({ maxLength: 300 })
  .map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a)));
const anEvent = fc
  .record({
    kind: fc.constantFrom("click", "registration", "payment"),
    text: fc.string({ unit: anyCharacter, maxLength: 40 }),
  })
  .map(({ kind, text }) => {
    const event = sample(kind as "click");
    return { ...event, data: { ...event.data, affiliateReference: text, email: text, customerEmail: text } };
  });

test("the reader of a spool file finds each whole line, in order, whatever else stands in the file", () => {
  const part = fc.oneof(
    anEvent.map((event) => ({ event, bytes: Buffer.from(lineOf(event as never)) })),
    noLine.map((bytes) => ({ event: undefined, bytes: Buffer.concat([bytes, NEWLINE]) })),
    // A line of which only a part was written.
    fc.tuple(anEvent, fc.nat(50)).map(([event, left]) => ({
      event: undefined,
      bytes: Buffer.concat([Buffer.from(lineOf(event as never)).subarray(0, left), NEWLINE]),
    })),
  );
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 12 }),
      noLine,
      fc.integer({ min: 1, max: 200 }),
      (parts, end, atOnce) => {
        const file = Buffer.concat([...parts.map(({ bytes }) => bytes), end]);
        expect(eventsIn(file, atOnce)).toEqual(parts.flatMap(({ event }) => event ?? []));
      },
    ),
  );
});

test("the reader of a spool file finds an event whose text has a line separator of Unicode", () => {
  const event = { ...sample("payment"), data: { customerEmail: "a\u2028b\u2029@shop.example" } };
  expect(eventsIn(Buffer.from(lineOf(event as never)), 100)).toEqual([event]);
});

test("the reader of a spool file takes no line for an event of which a byte was changed", () => {
  const line = Buffer.from(lineOf(sample("payment")));
  fc.assert(
    fc.property(fc.nat(line.length - 2), fc.integer({ min: 1, max: 255 }), (at, difference) => {
      const changed = Buffer.from(line);
      changed[at] = (changed[at] as number) ^ difference;
      expect(eventsIn(changed, 1_000)).toEqual([]);
    }),
  );
});

test("the reader of a spool file takes no JSON for an event that is none", () => {
  const event = sample("payment");
  const none = [
    null,
    [],
    1,
    { ...event, id: "no id" },
    { ...event, kind: "refund" },
    { ...event, kind: "constructor" },
    { ...event, destination: "" },
    { ...event, createdAt: "today" },
    { ...event, data: null },
    { ...event, data: [] },
    { ...event, data: { ...event.data, clickId: 1 } },
  ];
  expect(none.map((each) => eventFromLine(lineOf(each as never).trimEnd()))).toEqual(
    none.map(() => undefined),
  );
});

test("the reader of a spool file reads on behind a line that is longer than any event", () => {
  const event = sample("payment");
  const file = Buffer.concat([Buffer.alloc(3 * 1024 * 1024, "x"), NEWLINE, Buffer.from(lineOf(event))]);
  expect(eventsIn(file, 64 * 1024)).toEqual([event]);
});
