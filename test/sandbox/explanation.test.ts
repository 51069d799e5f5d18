import { expect, test } from "vitest";
import { explain } from "../../src/sandbox/inspector/state.js";
import { clicked, ledgerAfter, paid, registered, registeredBySession } from "./helpers.js";

/** What is said of the last lead that was not linked. */
function explanationAfter(...steps: Parameters<typeof ledgerAfter>[0]) {
  const ledger = ledgerAfter(steps);
  const lead = ledger.leads({ linkedClick: null }).at(-1);
  return lead && { notLinked: lead.notLinked, ...explain(ledger, lead) };
}

test("a click with the same click id that came later is named, and how much later", () => {
  expect(explanationAfter(registered(), clicked())).toMatchObject({
    notLinked: "click-came-after",
    carried: { field: "clickId", value: "click-1" },
    nearest: { id: 1, affiliateReference: "ALICE", relation: "same-click-id", afterMs: 1000, customers: [] },
  });
});

test("of a session's clicks, the first that came after the lead is named", () => {
  const later = clicked({ clickId: "click-2" });
  expect(explanationAfter(registeredBySession(), clicked(), later)).toMatchObject({
    notLinked: "click-came-after",
    carried: { field: "sessionId", value: "session-1" },
    nearest: { id: 1, relation: "same-session", afterMs: 1000 },
  });
});

test("another visitor's click in the same session is named, with who registered through it", () => {
  expect(
    explanationAfter(
      registered({ clickId: "unknown", email: "cy@shop.test" }),
      clicked(),
      registered(),
      paid({ customerEmail: "cy@shop.test" }),
    ),
  ).toMatchObject({
    notLinked: "another-visitors-click",
    nearest: { id: 1, relation: "same-session", afterMs: -2000, customers: ["bo@shop.test"] },
    registration: { id: 1, linked: false, afterMs: -3000 },
  });
});

test("of a session that all visitors share, a few customers are named, each once, and the rest counted", () => {
  const customers = Array.from({ length: 2_000 }, (_, nth) => `customer-${nth + 1}@shop.test`);
  const all = [...customers, ...customers].map((customerEmail) => registeredBySession({ customerEmail }));
  expect(explanationAfter(clicked(), ...all, paid({ sessionId: undefined }))?.nearest).toMatchObject({
    relation: "time",
    customers: customers.slice(0, 3),
    otherCustomers: 1_997,
  });
});

test("a click whose number was sent in place of its own id is named", () => {
  expect(explanationAfter(clicked(), registered({ clickId: "1" }))).toMatchObject({
    notLinked: "no-click-with-this-click-id",
    nearest: { id: 1, clickId: "click-1", relation: "number" },
  });
});

test.each([
  ["click id", registered({ clickId: "session-1" })],
  ["session id", registeredBySession({ sessionId: "click-1" })],
])("a click whose other id was sent as the %s is named", (_, step) => {
  expect(explanationAfter(clicked(), step)).toMatchObject({ nearest: { id: 1, relation: "other-id" } });
});

test("if no id fits, the last click before the lead is named, and not one after it", () => {
  const other = { clickId: "click-2", sessionId: "session-2", affiliateReference: "KIRAN" };
  const last = { clickId: "click-3", sessionId: "session-3" };
  const steps = [clicked(), clicked(other), paid({ sessionId: "unknown" }), clicked(last)];
  expect(explanationAfter(...steps)).toMatchObject({
    notLinked: "no-click-with-this-session-id",
    nearest: { id: 2, affiliateReference: "KIRAN", sessionId: "session-2", relation: "time", afterMs: -1000 },
    registration: null,
  });
});

test("if nothing is known, that is said", () => {
  expect(explanationAfter(paid({ sessionId: undefined }))).toEqual({
    notLinked: "no-session-id",
    carried: null,
    nearest: null,
    registration: null,
  });
});

test("a payment whose customer registered only afterwards says so", () => {
  expect(explanationAfter(paid({ sessionId: "unknown" }), clicked(), registered())).toMatchObject({
    registration: { id: 2, linked: true, afterMs: 2000 },
  });
});
