import { memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { expect, test } from "vitest";
import { scratchDirectory } from "../helpers/scratch.js";
import { startService } from "../helpers/service.js";
import { startTracker } from "../helpers/tracker.js";

// All but the memory outbox go through `createDurable`.
test.each([
  ["memory", () => memoryOutbox()],
  ["disk", () => diskOutbox({ directory: scratchDirectory() })],
])(
  "`delivered` has the service's lead id of a registration and a payment, with the %s outbox",
  async (_, create) => {
    // Of three payments, the answer to the last has none.
    const leadIds: Record<string, unknown> = { "/click": 1, "/registration": 2, a: 3, b: "4" };
    const { url: baseUrl } = await startService(({ path, body }) => ({
      success: true,
      leadId: leadIds[body.customerEmail?.[0] ?? path.slice(path.lastIndexOf("/"))],
    }));
    const tracker = startTracker({ baseUrl, outbox: create() });
    const told: Record<string, unknown> = {};
    tracker.on("delivered", (notice) => {
      told[notice.kind === "payment" ? String(notice.email?.[0]) : notice.kind] = notice;
    });
    await tracker.trackClick({ affiliateReference: "ANNA" }, { clickId: "c1" });
    await tracker.trackRegistration({ email: "x@shop.example" }, { clickId: "c1" });
    for (const name of ["a", "b", "c"]) {
      const payment = { paymentId: name, customerEmail: `${name}@shop.example`, leadValue: 1 };
      await tracker.trackPayment(payment, { sessionId: name });
    }
    await tracker.flush();
    await expect.poll(() => Object.keys(told)).toHaveLength(5);
    expect(told).toMatchObject({ registration: { leadId: 2 }, a: { leadId: 3 }, b: { leadId: 4 } });
    expect(told.click).not.toHaveProperty("leadId");
    expect(told.c).not.toHaveProperty("leadId");
  },
);
