import { recordingOutbox } from "express-affiliate/testing";
import { describe, expect, it } from "vitest";
import { textOf } from "../helpers/docs/pages.js";
import { startTracker } from "../helpers/tracker.js";

const rows = [...textOf("docs/wire.md").matchAll(/^\| (`.+`) \| ([\d,]+) \| (\w+)/gm)].flatMap(
  ([, names = "", longest = "", becomes = ""]) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name = ""]) => ({
      name,
      longest: Number(longest.replace(",", "")),
      becomes,
    })),
);

const least = {
  click: { affiliateReference: "ALICE" },
  registration: { email: "ada@shop.example" },
  payment: { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 1 },
};
const fieldsOf = {
  click: ["affiliateReference", "clickId", "sessionId", "clickedUrl", "referrerUrl", "userAgent", "source"],
  registration: ["email", "customerId", "customerName"],
  payment: ["paymentId", "customerEmail"],
};

describe("docs/wire.md", () => {
  it("has a row for each text of an event", () => {
    expect(rows.map(({ name }) => name).sort()).toEqual(Object.values(fieldsOf).flat().sort());
  });

  it.each(rows)("says what becomes of a long $name", async ({ name, longest, becomes }) => {
    const outbox = recordingOutbox();
    const { trackClick, trackRegistration, trackPayment } = startTracker({
      baseUrl: "http://127.0.0.1:1",
      outbox,
    });
    const track = { click: trackClick, registration: trackRegistration, payment: trackPayment };
    const [kind] = Object.entries(fieldsOf).find(([, names]) => names.includes(name)) as [
      keyof typeof least,
      string[],
    ];
    const isAddress = /email/i.test(name);
    const report = (length: number) => {
      const text = isAddress ? `${"x".repeat(length - 2)}@b` : "x".repeat(length);
      // One of the kinds, whose fields the types cannot tell apart here.
      return track[kind](
        { ...least[kind], [name]: text } as never,
        kind === "click" ? undefined : { sessionId: "s1" },
      );
    };
    const lengths = () => outbox.events.map(({ data }) => new Map(Object.entries(data)).get(name)?.length);

    expect(await report(longest)).toMatchObject({ outcome: "queued" });
    expect(lengths()).toEqual([longest]);
    outbox.events.length = 0;
    const { outcome } = await report(longest + 1);
    expect(outcome).toBe(becomes === "refused" ? "rejected" : "queued");
    if (becomes === "cut") expect(lengths()).toEqual([longest]);
    else for (const length of lengths()) expect(length).not.toBe(longest + 1);
  });
});
