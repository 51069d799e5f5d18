import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { leadIdOf } from "../../src/service/answers.js";

describe("a lead id", () => {
  it.each<[unknown, number | undefined]>([
    [{ leadId: 7 }, 7],
    [{ leadId: "007" }, 7],
    [{ leadId: Number.MAX_SAFE_INTEGER + 1 }, undefined],
    [{ leadId: "9".repeat(100_000) }, undefined],
    [{ leadId: 0 }, undefined],
    [{ leadId: 1.5 }, undefined],
    [{ leadId: "1e3" }, undefined],
    [{ leadId: "" }, undefined],
    [{ leadId: [7] }, undefined],
    [null, undefined],
  ])("of %j is %j", (body, leadId) => {
    expect(leadIdOf(body)).toBe(leadId);
  });

  it("is a positive integer or none, whatever the service answers", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.record({ leadId: fc.jsonValue() }).map((it) => JSON.stringify(it)),
        ),
        (text) => {
          const leadId = leadIdOf(JSON.parse(text));
          expect(leadId === undefined || (Number.isSafeInteger(leadId) && leadId > 0)).toBe(true);
        },
      ),
    );
  });
});
