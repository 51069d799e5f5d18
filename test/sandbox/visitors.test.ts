import { expect, onTestFinished, test, vi } from "vitest";
import { groupByVisitor } from "../../src/sandbox/inspector/visitors.js";
import { openLedger } from "../../src/sandbox/ledger/ledger.js";
import { createService } from "../../src/sandbox/service.js";
import { click, payment, registration, registrationLead } from "./helpers.js";

type Service = ReturnType<typeof createService>;

/** What the ledger makes of it, as one line for each visitor. */
function visitorsAfter(story: (service: Service) => void): string[] {
  const ledger = openLedger();
  ledger.atomically(() => story(createService(ledger, 1001)));
  const { clicks, leads } = ledger.tables;
  const visitors = groupByVisitor(clicks.latest(100), leads.latest(100));
  ledger.close();
  return visitors
    .map(({ clicks, registrations, payments }) =>
      [
        clicks.map((entry) => entry.affiliateReference),
        registrations.map((entry) => entry.customerEmail),
        payments.map((entry) => entry.leadValue),
      ].join(" > "),
    )
    .sort();
}

test("a click, a registration through its id and a payment from its session are one visitor's", () => {
  const visitors = visitorsAfter((service) => {
    service.click(click());
    service.registration(registration());
    service.paymentLead({ ...payment(), leadType: "PAYMENT" });
  });
  expect(visitors).toEqual(["ALICE > bo@shop.test > 49.9"]);
});

test("the visitor who was there last comes first, also within one millisecond", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) });
  onTestFinished(() => void vi.useRealTimers());
  const ledger = openLedger();
  const service = createService(ledger, 1001);
  for (const sessionId of ["s-1", "s-2", "s-3", "s-2", "s-4", "s-1"])
    service.click(click({ sessionId, clickId: undefined }));
  const visitors = groupByVisitor(ledger.tables.clicks.latest(100), []);
  ledger.close();
  expect(visitors.map(({ name }) => name)).toEqual(["s-1", "s-4", "s-2", "s-3"]);
});

test("two sessions of one customer are one visitor's", () => {
  const visitors = visitorsAfter((service) => {
    service.click(click());
    service.registration(registration());
    service.click(click({ clickId: "click-2", sessionId: "session-2", affiliateReference: "BOB" }));
    service.paymentLead({ ...payment({ sessionId: "session-2" }), leadType: "PAYMENT" });
  });
  expect(visitors).toEqual(["ALICE,BOB > bo@shop.test > 49.9"]);
});

test("what was linked to nothing stands by what its ids say", () => {
  const visitors = visitorsAfter((service) => {
    service.registrationLead({ ...registrationLead(), leadType: "REGISTRATION" });
    service.click(click());
    service.paymentLead({
      ...payment({ sessionId: "x", customerEmail: "di@shop.test" }),
      leadType: "PAYMENT",
    });
  });
  expect(visitors).toEqual([" >  > 49.9", "ALICE > bo@shop.test > "]);
});

test("a customer at another's machine is another visitor", () => {
  const visitors = visitorsAfter((service) => {
    service.registration(registration({ clickId: "unheard-of", email: "cy@shop.test" }));
    service.click(click());
    service.registration(registration());
    service.paymentLead({ ...payment({ customerEmail: "cy@shop.test" }), leadType: "PAYMENT" });
  });
  expect(visitors).toEqual([" > cy@shop.test > 49.9", "ALICE > bo@shop.test > "]);
});
