import { expect, test } from "vitest";
import { groupByVisitor } from "../../src/sandbox/inspector/visitors.js";
import { clicked, ledgerAfter, paid, registered, registeredBySession } from "./helpers.js";

function visitorsAfter(...[steps, apartMs]: Parameters<typeof ledgerAfter>) {
  const { clicks, leads } = ledgerAfter(steps, apartMs).tables;
  return groupByVisitor(clicks.latest(100), leads.latest(100));
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
  const lines = visitorsAfter(steps).map(({ clicks, registrations, payments }) =>
    [
      clicks.map((entry) => entry.affiliateReference),
      registrations.map((entry) => entry.customerEmail),
      payments.map((entry) => entry.leadValue),
    ].join(" > "),
  );
  expect(lines.sort()).toEqual(expected);
});

test("the visitor who was there last comes first, also within one millisecond", () => {
  const sessions = ["s-1", "s-2", "s-3", "s-2", "s-4", "s-1"];
  const steps = sessions.map((sessionId) =>
    clicked({ sessionId, clickId: undefined, affiliateReference: sessionId }),
  );
  expect(visitorsAfter(steps, 0).map(({ name }) => name)).toEqual(
    ["s-1", "s-4", "s-2", "s-3"].map((affiliate) => `${affiliate}’s visitor`),
  );
});
