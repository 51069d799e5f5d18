import { expect, it } from "vitest";
import { order } from "../helpers/conversions.js";
import { pageToRun } from "../helpers/docs/run.js";
import { startShop } from "../helpers/docs/shop.js";
import { startService } from "../helpers/service.js";

const page = pageToRun("docs/payments.md");

it("docs/payments.md keeps the service's own number with the order", async () => {
  let leadId = 0;
  const { url: baseUrl } = await startService(() => ({ success: true, leadId: ++leadId }));
  const { tracker } = await startShop({ baseUrl });
  const kept: object[] = [];
  const orders = { keepLead: (lead: object) => kept.push(lead) };
  await page.run("Refunds and chargebacks", { tracker, orders });
  await tracker.trackRegistration({ email: "ada@shop.example" }, { clickId: "c1" });
  const receipt = await tracker.trackPayment(order, { clickId: "c1", sessionId: "s1" });
  await tracker.flush();
  expect(receipt).toMatchObject({ outcome: "queued" });
  expect(kept).toEqual([{ receiptId: (receipt as { id: string }).id, leadId: 2 }]);
});
