import { expect, test } from "vitest";
import { whyNot } from "../../src/sandbox/inspector/why.js";
import { clicked, ledgerAfter, paid, registered, registeredBySession } from "./helpers.js";

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
    [
      registered({ clickId: "unknown", email: "cy@shop.test" }),
      clicked(),
      registered(),
      paid({ customerEmail: "cy@shop.test" }),
    ],
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
