import type { AttributionInput } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attributionFrom } from "../../src/request/attribution-input.js";
import { order, throwing } from "../helpers/conversions.js";
import { anyCharacter, forAny } from "../helpers/for-any.js";
import { trackerWithService } from "../helpers/tracker.js";

const ids = { clickId: "c1", sessionId: "s1" };

class Row {
  id = 7;
  get clickId() {
    return "c1";
  }
  get sessionId() {
    return null;
  }
}

describe("an attribution that a host passes", () => {
  it.each([
    ["a snapshot", ids, ids],
    ["a snapshot as JSON text", JSON.stringify(ids), ids],
    ["a snapshot without ids", {}, {}],
    ["one without ids as JSON text", "{}", {}],
    ["a row with nullable columns", { clickId: null, sessionId: "s1" }, { sessionId: "s1" }],
    ["a row with empty columns", { clickId: null, sessionId: null }, {}],
    ["undefined fields", { clickId: undefined, sessionId: "s1" }, { sessionId: "s1" }],
    ["the user's whole row", { ...ids, id: 7, email: "ada@shop.example" }, ids],
    ["an entity with getters", new Row(), { clickId: "c1" }],
    ["a gateway's metadata of a customer whom no affiliate referred", { order_id: "o1" }, {}],
    ["the same as JSON text", '{"order_id":"o1"}', {}],
    ["a gateway's metadata", { order_id: "o1", ...ids }, ids],
    ["a row with a session id of the host's own, beside ours", { ...ids, session_id: "own" }, ids],
    ["the row of a user whom no affiliate referred", { id: 7, affiliate: null, session: {} }, {}],
    ["an empty Map", new Map(), {}],
    ["undefined", undefined, {}],
    ["null", null, {}],
    ["a JSON column's null", "null", {}],
  ])("may be %s", (_, given, attribution) => {
    expect(attributionFrom(given, () => {})).toEqual(attribution);
  });

  const throws = Object.defineProperty({}, "clickId", { enumerable: true, get: throwing("boom") });
  const text = JSON.stringify(ids);
  it.each([
    ["a number", 42, "got 42 (number)"],
    ["a click id alone", "c1", 'got "c1" (string)'],
    ["an empty text", "", 'got "" (string)'],
    ["text that is cut off", '{"clickId":"c1', 'got "{\\"clickId\\":\\"c1" (string)'],
    ["text of text", JSON.stringify(text), `got ${JSON.stringify(text)} (string)`],
    ["a list", [ids], "got an array"],
    ["a Map, such as Mongoose's", new Map(Object.entries(ids)), "got a map or bytes: pass object or text"],
    ["a column of bytes", Buffer.from(text), "got a map or bytes: pass object or text"],
    ["a function", () => ids, "got a function"],
    ["an id of another type", { clickId: 42 }, "its `clickId` must be an id, got 42 (number)"],
    ["an empty id", { ...ids, sessionId: "" }, 'its `sessionId` must be an id, got "" (string)'],
    ["a getter that throws", throws, "it threw when it was read"],
    ["a promise", Promise.resolve(ids), "got a promise; await it"],
    ["a row of a database", { click_id: "c1" }, "its `click_id` must be called `clickId`"],
    ["a row without ids", { id: 7, affiliate_session_id: null }, "its `affiliate_session_id` must be called"],
    ["JSON of a misspelling", '{"sessionid":"s1"}', "its `sessionid` must be called `sessionId`"],
    ["another case", { clickID: "c1" }, "its `clickID` must be called `clickId`"],
    ["all cookies", { theme: "dark", svc_click_id: "c1" }, "its `svc_click_id` must be called `clickId`"],
    ["a user", { id: 7, affiliate: ids }, "hand over its `affiliate`"],
    ["a user of an ORM", Object.create({ affiliate: ids }), "hand over its `affiliate`"],
    ["a gateway's metadata", { metadata: JSON.stringify(ids) }, "hand over its `metadata`"],
    ["JSON under an odd name", { "\u202e\n": ids }, 'hand over its "\\u202e\\n" (string)'],
    ["options", { matchByEmail: true }, "`matchByEmail` is an option: hand over `undefined` before it"],
  ])("is refused as %s", (_, given, because) => {
    expect(attributionFrom(given, () => {})).toEqual({ invalid: expect.stringContaining(because) });
  });

  it.each(["undefined", "null", "NaN", "[object Object]", ".", ".."])(
    "is without an id that is the text %j, and says so",
    (text) => {
      const told: string[][] = [];
      const given = { clickId: text, sessionId: "s1" };
      expect(attributionFrom(given, (...what) => told.push(what))).toEqual({ sessionId: "s1" });
      expect(told).toEqual([["the attribution's `clickId`", text]]);
    },
  );

  it("is ids or a reason in printable ASCII, whatever is given", () => {
    const id = fc.oneof(fc.anything(), fc.string({ unit: anyCharacter }), fc.constantFrom(".", ".."));
    const attribution = fc.record({ clickId: id, sessionId: id }, { requiredKeys: [] });
    forAny(fc.oneof(fc.anything(), fc.json(), attribution), (input) => {
      const read = attributionFrom(input, () => {});
      if ("invalid" in read) expect(read.invalid).toMatch(/^[\x20-\x7e]+$/);
      else for (const id of Object.values(read)) expect(id).toMatch(/^(?!\.{1,2}$)[\x21-\x7e]{1,256}$/);
    });
  });

  it("rejects the report with a warning if it is refused, and claims no id", async () => {
    const { tracker, posted, lines } = await trackerWithService();
    expect(await tracker.trackPayment(order, "c1")).toEqual({ outcome: "rejected", reason: "invalid" });
    expect(lines).toEqual([
      'express-affiliate: the payment "o1" was dropped: the attribution must be what `req.affiliate.snapshot()` gave, as an object or as JSON text, or nothing: got "c1" (string)',
    ]);
    expect(await tracker.trackPayment(order, JSON.stringify(ids))).toMatchObject({ outcome: "queued" });
    await tracker.flush();
    expect(posted).toMatchObject([{ body: { sessionId: "s1" } }]);
  });

  it("may have the types of ORMs' rows", () => {
    interface User {
      readonly id: number;
      readonly clickId: string | null;
      readonly sessionId: string | null;
    }
    // As Prisma types a `Json` column.
    type JsonValue = string | number | boolean | { [name in string]?: JsonValue } | JsonValue[] | null;
    const taken: AttributionInput[] = [
      {} as User,
      null as JsonValue,
      null as User | null,
      undefined as string | undefined,
    ];
    expect(taken).toHaveLength(4);
  });
});
