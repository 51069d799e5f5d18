import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import type { Lane } from "../../../../src/outbox/claim.js";
import type { DiskClaim } from "../../../../src/outbox/disk/queue/requests.js";
import type { Endpoint } from "../../../../src/service/endpoints.js";
import { ENDPOINTS } from "../../../../src/service/endpoints.js";
import { retryIn } from "../../../contract/recorder.js";
import { DESTINATION, paying, sample } from "../../../contract/samples.js";
import { type Disk, diskOf, disksOf, idsOf, openDisk, RELEASED, watch } from "../../../helpers/disk-store.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

const HOUR_MS = 3_600_000;
/** Claims from one lane, or from all, once all has been looked at. */
function claim({ store }: Disk, limit: number, lane?: Partial<Lane> & { endpoint: Endpoint }): DiskClaim[] {
  const lanes = lane ? [{ limit, ...lane }] : ENDPOINTS.map((endpoint) => ({ endpoint, limit }));
  const capacity = { destination: DESTINATION, limit, lanes };
  for (;;) {
    const { results, snapshot } = store.run([{ type: "claim", capacity }]);
    const claims = results[0] as DiskClaim[];
    if (claims.length > 0 || (snapshot.nextReadyAt ?? Number.POSITIVE_INFINITY) > Date.now()) return claims;
  }
}

const clicks = (number: number) => Array.from({ length: number }, () => sample("click"));
const urgencyOf = (disk: Disk, { id }: OutboxEvent): number =>
  disk.db.prepare("select urgency from events where id = ?").get(id).urgency;

/**
 * A click that a process has claimed: as it came, or from its line. Then its visitor signs up and
 * pays.
 */
function claimedBefore(how: "as it came" | "from its line") {
  const [one, other] = disksOf(["one", "other"]);
  const [click, registration, payment] = paying();
  const strangers = clicks(3);
  one.append(click);
  let [claimed] = claim(one, 1);
  if (how === "from its line") {
    one.settle(claimed as DiskClaim, RELEASED);
    [claimed] = claim(one, 1);
  }
  one.append(...strangers, registration, payment);
  return { one, other, click, registration, payment, strangers, claimed: claimed as DiskClaim };
}

test.each(["as it came", "from its line"] as const)(
  "a click that was claimed %s is as urgent as the payment that another process finds behind it, once it is given back",
  (how) => {
    for (const verdict of [RELEASED, retryIn(0)]) {
      const { one, other, claimed, click, strangers } = claimedBefore(how);
      expect(idsOf(claim(other, 1))).toEqual([strangers[0]?.id]);
      one.settle(claimed, verdict);
      expect(claim(other, 2)).toMatchObject([
        { event: click, urgency: "payment" },
        { event: strangers[1], urgency: "click" },
      ]);
    }
  },
);

test.each(["as it came", "from its line"] as const)(
  "a click that was claimed %s by a killed process is as urgent as the payment behind it",
  (how) => {
    const { other, click } = claimedBefore(how);
    expect(claim(other, 1)).toHaveLength(1);
    watch(other);
    expect(claim(other, 1)).toMatchObject([{ event: click, urgency: "payment", interrupted: true }]);
  },
);

test("a click that is given back after a payment came behind it counts as newly come", () => {
  const disk = diskOf();
  const [click, , payment] = paying();
  const aged = { ...click, createdAt: click.createdAt - HOUR_MS };
  const newcomers = { endpoint: "click", newestFirst: true, newWithinMs: HOUR_MS / 2 } as const;
  disk.append(aged);
  const [claimed] = claim(disk, 1) as [DiskClaim];
  disk.settle(claimed, RELEASED);
  expect(claim(disk, 1, newcomers)).toEqual([]);

  const [again] = claim(disk, 1) as [DiskClaim];
  disk.append(payment);
  expect(claim(disk, 1)).toEqual([]);
  disk.settle(again, RELEASED);
  expect(claim(disk, 1, newcomers)).toMatchObject([{ event: aged, urgency: "payment" }]);
});

test("a click that rests is no sooner ready for the payment behind it, and is the first of its lane then", () => {
  let now = Date.now();
  const disk = diskOf({ time: () => now });
  const [click, , payment] = paying();
  disk.append(click);
  disk.settle(claim(disk, 1)[0] as DiskClaim, retryIn(HOUR_MS));
  disk.append(payment, ...clicks(2));
  expect(claim(disk, 1, { endpoint: "click" })).toMatchObject([{ urgency: "click" }]);

  now += HOUR_MS;
  expect(claim(disk, 1, { endpoint: "click" })).toMatchObject([{ event: click, urgency: "payment" }]);
});

test("the store finds after a restart what is more urgent, whether or not it had been found before", () => {
  for (const isFound of [true, false]) {
    const directory = scratchDirectory();
    const before = openDisk(directory, { owner: "before" });
    const [click, , payment] = paying();
    before.append(...clicks(5), click, payment);
    if (isFound) before.settle(claim(before, 1)[0] as DiskClaim, RELEASED);
    expect(urgencyOf(before, click)).toBe(isFound ? 3 : 1);
    before.close();

    expect(claim(diskOf({}, directory), 1)).toMatchObject([{ event: click, urgency: "payment" }]);
  }
});

test("the store finds anew what is more urgent among the events that were saved from a lost file", () => {
  const [lost, disk] = [diskOf({ owner: "other" }), diskOf()];
  const [click, , payment] = paying();
  const [claimed, , behind] = paying();
  lost.append(claimed);
  claim(lost, 1);
  lost.append(...clicks(3), click, payment, behind);
  disk.store.salvage(lost.db);

  expect(claim(disk, 1)).toMatchObject([{ event: click, urgency: "payment" }]);
  expect(urgencyOf(disk, claimed)).toBe(3);
});
