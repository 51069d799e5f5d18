import type { Attribution, OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import type { DiskClaim } from "../../../src/outbox/disk/store/requests.js";
import { idsOf, sample, stranger } from "../../contract/samples.js";
import { DELIVERED, type Disk, diskOf, REJECTED } from "../../helpers/disk-store.js";

/** A visitor's two events of which the second was retried by hand, in their order. */
async function withOneRetried(disk: Disk, visitor: Attribution): Promise<OutboxEvent[]> {
  const [last, first] = [sample("payment", visitor), sample("payment", visitor)];
  await disk.append(last, first);
  const [claim] = await disk.claim(1);
  await disk.settle(claim as DiskClaim, REJECTED);
  await disk.run({ type: "retry", ids: [last.id] });
  return [first, last];
}

async function deliverAll(disk: Disk): Promise<string[]> {
  const delivered: string[] = [];
  for (let [claim] = await disk.claim(1); claim; [claim] = await disk.claim(1)) {
    delivered.push(claim.event.id);
    await disk.settle(claim, DELIVERED);
  }
  return delivered;
}

test("what comes after an event that was retried by hand goes after it, even if their queue was deleted by hand", async () => {
  const disk = diskOf();
  const visitor = stranger();
  const events = await withOneRetried(disk, visitor);
  disk.db.exec("delete from queues");
  await disk.store.lookAfter();
  const next = sample("payment", visitor);
  await disk.append(next);

  expect(await deliverAll(disk)).toEqual(idsOf([...events, next]));
});

test("a visitor's events of a lost file go after those of the new one, and before later ones", async () => {
  const [lost, disk] = [diskOf(), diskOf()];
  const visitor = stranger();
  const copied = await withOneRetried(lost, visitor);
  const own = await withOneRetried(disk, visitor);
  await disk.store.copyFrom(lost.db);
  const next = sample("payment", visitor);
  await disk.append(next);

  expect(await deliverAll(disk)).toEqual(idsOf([...own, ...copied, next]));
});
