import { expect, test } from "vitest";
import { nameOf, recordVisitors } from "../../src/sandbox/inspector/visitors.js";
import { whyNot } from "../../src/sandbox/inspector/why.js";
import type { Click, Lead } from "../../src/sandbox/ledger/entries.js";
import { clicked, ledgerAfter, paid, registered, registeredBySession } from "./helpers.js";

function visitorsAfter(...[steps, apartMs]: Parameters<typeof ledgerAfter>) {
  return [...recordVisitors(ledgerAfter(steps, apartMs))()].reverse();
}

/** Cy pays at Bo's machine. */
const atAnothersMachine = [
  registered({ clickId: "unheard-of", email: "cy@shop.test" }),
  clicked(),
  registered(),
  paid({ customerEmail: "cy@shop.test" }),
];

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
    atAnothersMachine,
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
  const steps = ["s-1", "s-2", "s-3", "s-2", "s-4", "s-1"].map((sessionId) =>
    clicked({ sessionId, clickId: undefined, affiliateReference: sessionId }),
  );
  expect(visitorsAfter(steps, 0).map(nameOf)).toEqual(
    ["s-1", "s-4", "s-2", "s-3"].map((affiliate) => `${affiliate}’s visitor`),
  );
});

test("a visitor whom a payment joins from three others has all of theirs, and stands first", () => {
  const [one, two, three] = ["1", "2", "3"].map((nth) => clicked({ clickId: nth, sessionId: nth }));
  const [first, second] = ["1", "2"].map((clickId) => registered({ clickId, email: "bo@shop.test" }));
  const steps = [one, two, first, three, second] as never[];
  const visitors = visitorsAfter([...steps, paid({ sessionId: "3" })]);
  expect(visitors.map(({ entries }) => entries.length)).toEqual([6]);
});

/** What is said of the last lead that was not linked. */
function explanationAfter(...steps: Parameters<typeof ledgerAfter>[0]) {
  const ledger = ledgerAfter(steps);
  const lead = ledger.leads({ linkedClick: null }).at(-1);
  return lead && whyNot(ledger, lead)?.join("");
}

test.each([
  [
    "a click with the same click id that came later, and how much later",
    [registered(), clicked()],
    "the click came after it. It carried the click id click-1. That is the click id of click 1 (ALICE), which came 1 s after it. ",
  ],
  [
    "a session's click that came after the lead",
    [registeredBySession(), clicked()],
    "the click came after it. It carried the session id session-1. That is the session id of click 1 (ALICE), which came 1 s after it. ",
  ],
  [
    "another visitor's click in the same session",
    atAnothersMachine,
    "the session’s click is another visitor’s. It carried the session id session-1. That is the session id of click 1 (ALICE), which came 2 s before it. cy@shop.test registered (lead 1), and that was linked to no click either.",
  ],
  [
    "a click whose number was sent in place of its own id",
    [clicked(), registered({ clickId: "1" })],
    "no click with this click id. It carried the click id 1. That is the number of click 1 (ALICE), which came 1 s before it. ",
  ],
  [
    "a click whose session id was sent as the click id",
    [clicked(), registered({ clickId: "session-1" })],
    "no click with this click id. It carried the click id session-1. That is the session id of click 1 (ALICE), which came 1 s before it. ",
  ],
  [
    "a click whose click id was sent as the session id",
    [clicked(), registeredBySession({ sessionId: "click-1" })],
    "no click with this session id. It carried the session id click-1. That is the click id of click 1 (ALICE), which came 1 s before it. ",
  ],
  [
    "the last click before the lead, and not one after it, if no id fits",
    [
      clicked(),
      clicked({ clickId: "click-2", sessionId: "session-2", affiliateReference: "KIRAN" }),
      paid({ sessionId: "unknown" }),
      clicked({ clickId: "click-3", sessionId: "session-3" }),
    ],
    "no click with this session id. It carried the session id unknown. The nearest is click 2 (KIRAN), which came 1 s before it, with the session id session-2. bo@shop.test never registered.",
  ],
  [
    "that nothing is known",
    [paid({ sessionId: undefined })],
    "no session id. It carried no id. No click came before it. bo@shop.test never registered.",
  ],
  [
    "that a payment's customer registered only afterwards",
    [paid({ sessionId: "unknown" }), clicked(), registered()],
    "no click with this session id. It carried the session id unknown. No click came before it. bo@shop.test registered (lead 2) 2 s after it.",
  ],
])("an explanation names %s", (_, steps, says) => {
  expect(explanationAfter(...steps)).toBe(says);
});

test("an explanation keeps what strangers chose apart from its own words", () => {
  const ledger = ledgerAfter([clicked(), paid({ sessionId: "x", customerEmail: "y@z" })]);
  const [lead] = ledger.leads();
  const foreign = lead && whyNot(ledger, lead)?.filter((_, nth) => nth % 2 === 1);
  expect(foreign).toEqual(["x", "ALICE", "session-1", "y@z"]);
});
