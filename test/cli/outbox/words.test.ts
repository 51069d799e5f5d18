import fc from "fast-check";
import { expect, it } from "vitest";
import { spanOf, withoutCustomer } from "../../../src/cli/outbox/words.js";
import { sample } from "../../../src/testing/contract/samples.js";

it.each([
  [0, "less than a minute"],
  [59_999, "less than a minute"],
  [60_000, "1 minute"],
  [3_599_999, "59 minutes"],
  [3_600_000, "1 hour"],
  [86_400_000, "1 day"],
  [200_000_000, "2 days"],
])("calls %d ms %s", (ms, span) => {
  expect(spanOf(ms)).toBe(span);
});

it("hides a customer's address and name wherever they stand, and nothing a terminal acts upon is left", () => {
  const said = fc.string({
    unit: fc.oneof(fc.constantFrom(..." .*+?^$()|[]{}\\/-'\u001b\u009b\u202e"), fc.string()),
  });
  const address = fc.tuple(said, said).map(([name, host]) => `qZ${name}7@host${host}`.replaceAll(/\s/g, ""));
  fc.assert(
    fc.property(
      said,
      address,
      said.filter((text) => !/qz|7zq/i.test(text)),
      (name, customerEmail, around) => {
        const customerName = `Qz${name}7zQ`;
        const event = { ...sample("payment").data, customerEmail, customerName };
        const text = `${around} ${customerName}, <${customerEmail}>: ${around}`;
        const shown = withoutCustomer(text, event);
        expect(shown).not.toContain(customerEmail);
        expect(shown.toLowerCase()).not.toMatch(/qz|7zq/);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      },
    ),
  );
});

it("leaves words alone in which a name stands by chance", () => {
  const { data } = sample("registration");
  const event = { ...data, customerName: "Al No" };
  expect(withoutCustomer("Al is already known, no: normally", event)).toBe(
    "*** is already known, ***: normally",
  );
});
