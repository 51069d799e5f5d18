import { memoryOutbox, type Outbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { describe, expect, test } from "vitest";
import { describeWithMariaDb } from "../helpers/mysql.js";
import { describeWithPostgres } from "../helpers/postgres.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startService } from "../helpers/service.js";
import { startTracker } from "../helpers/tracker.js";

/**
 * What `delivered` says of a click, a registration, and three payments, of which one's answer has
 * no lead id.
 */
async function leadIdsBy(outbox: Outbox): Promise<Record<string, unknown>> {
  const leadIds: Record<string, unknown> = { "/click": 1, "/registration": 2, a: 3, b: "4" };
  const { url: baseUrl } = await startService(({ path, body }) => ({
    success: true,
    leadId: leadIds[body.customerEmail?.[0] ?? path.slice(path.lastIndexOf("/"))],
  }));
  const tracker = startTracker({ baseUrl, outbox });
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
  return told;
}

function testLeadIds(create: () => Outbox | Promise<Outbox>): void {
  test("`delivered` has the service's lead id", async () => {
    const told = await leadIdsBy(await create());
    expect(told).toMatchObject({ registration: { leadId: 2 }, a: { leadId: 3 }, b: { leadId: 4 } });
    expect(told.click).not.toHaveProperty("leadId");
    expect(told.c).not.toHaveProperty("leadId");
  });
}

describe("with the memory outbox", () => testLeadIds(memoryOutbox));

describe("with the disk outbox, whose thread delivers", () =>
  testLeadIds(() => diskOutbox({ directory: scratchDirectory() })));

describeWithPostgres(
  "with the Postgres outbox, as with all whose events a relay takes to delivery",
  (database) => testLeadIds(() => database.create()),
);

describeWithMariaDb("with the MySQL outbox", (database) => testLeadIds(() => database.create()));
