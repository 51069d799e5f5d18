import { expect, test } from "vitest";
import { nameOf, recordVisitors } from "../../src/sandbox/inspector/visitors.js";
import type { Click, Lead } from "../../src/sandbox/ledger/entries.js";
import { clicked, ledgerAfter, paid, registered, registeredBySession } from "./helpers.js";

function visitorsAfter(...[steps, apartMs]: Parameters<typeof ledgerAfter>) {
  return [...recordVisitors(ledgerAfter(steps, apartMs))()].reverse();
}

test.each([
  [
    "a click, a registration through its id and a payment from its session are one visitor's",
    [clicked(), registered(), paid()],
    ["ALICE > bo@shop.test > 49.9"],
  ],
  [
    "two sessions of one customer are one visitor's",
    [
      clicked(),
      registered(),
      clicked({ clickId: "click-2", sessionId: "session-2", affiliateReference: "BOB" }),
      paid({ sessionId: "session-2" }),
    ],
    ["ALICE,BOB > bo@shop.test > 49.9"],
  ],
  [
    "what was linked to nothing stands by what its ids say",
    [registeredBySession(), clicked(), paid({ sessionId: "x", customerEmail: "di@shop.test" })],
    [" >  > 49.9", "ALICE > bo@shop.test > "],
  ],
  [
    "a customer at another's machine is another visitor",
    [
      registered({ clickId: "unheard-of", email: "cy@shop.test" }),
      clicked(),
      registered(),
      paid({ customerEmail: "cy@shop.test" }),
    ],
    [" > cy@shop.test > 49.9", "ALICE > bo@shop.test > "],
  ],
])("%s", (_, steps, expected) => {
  const lines = visitorsAfter(steps).map(({ entries }) => {
    const says = (kind: string, field: keyof Click | keyof Lead) =>
      entries.flatMap((entry) => (entry.kind === kind ? [entry[field as "id"]] : [])).join();
    const step = [says("click", "affiliateReference"), says("registration", "customerEmail")];
    return [...step, says("payment", "leadValue")].join(" > ");
  });
  expect(lines.sort()).toEqual(expected);
});

test("the visitor who was there last comes first, also within one millisecond", () => {
  const sessions = ["s-1", "s-2", "s-3", "s-2", "s-4", "s-1"];
  const steps = sessions.map((sessionId) =>
    clicked({ sessionId, clickId: undefined, affiliateReference: sessionId }),
  );
  expect(visitorsAfter(steps, 0).map(nameOf)).toEqual(
    ["s-1", "s-4", "s-2", "s-3"].map((affiliate) => `${affiliate}’s visitor`),
  );
});

test("a visitor whom a payment joins from three others has all of theirs, and stands first", () => {
  const [one, two, three] = ["1", "2", "3"].map((nth) => clicked({ clickId: nth, sessionId: nth }));
  const customer = { email: "bo@shop.test" };
  const steps = [
    one,
    two,
    registered({ clickId: "1", ...customer }),
    three,
    registered({ clickId: "2", ...customer }),
  ];
  const visitors = visitorsAfter([...(steps as never[]), paid({ sessionId: "3" })]);
  expect(visitors.map(({ entries }) => entries.length)).toEqual([6]);
});
