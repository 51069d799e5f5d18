import type { Attribution, OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import type { DiskClaim } from "../../../src/outbox/disk/store/calls.js";
import { DONE } from "../../../src/outbox/queue/rows.js";
import { idsOf, sample, stranger } from "../../contract/samples.js";
import { DELIVERED, type Disk, diskOf, REJECTED, settleAll } from "../../helpers/disk-store.js";

/** A visitor's two events of which the second was retried by hand, in their order. */
async function withOneRetried(disk: Disk, visitor: Attribution): Promise<OutboxEvent[]> {
  const [last, first] = [sample("payment", visitor), sample("payment", visitor)];
  await disk.append(last, first);
  const [claim] = await disk.claim(1);
  await disk.settle(claim as DiskClaim, REJECTED);
  await disk.calls.retry(last.id);
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
  await disk.store.look(true);
  const next = sample("payment", visitor);
  await disk.append(next);

  expect(await deliverAll(disk)).toEqual(idsOf([...events, next]));
});

test("what was retried by hand goes after other visitors' events that wait, however old it is", async () => {
  const disk = diskOf();
  const pairOf = (visitor: Attribution, createdAt: number) =>
    (["registration", "payment"] as const).map((kind) => ({ ...sample(kind, visitor), createdAt }));
  const revived = pairOf(stranger(), Date.now() - 86_400_000);
  await disk.append(...revived);
  await settleAll(disk, REJECTED);
  const waiting = pairOf(stranger(), Date.now() - 1_000);
  await disk.append(...waiting);
  await disk.calls.retryAll();

  expect(await deliverAll(disk)).toEqual(idsOf([...waiting, ...revived]));
});

/** The same event so many times more, each with an id of its own. */
function repeat(disk: Disk, { id }: OutboxEvent, times: number, visitor = "visitor"): void {
  const columns = disk.db.prepare("select name from pragma_table_info('events')").all();
  const others = columns.map(({ name }) => name).filter((name) => !["seq", "id", "visitor"].includes(name));
  const names = ["id", "visitor", ...others].join();
  disk.db.exec(`with recursive n (nth) as (select 1 union all select nth + 1 from n where nth < ${times})
    insert into events (${names}) select id || nth, ${visitor}, ${others} from n join events on id = '${id}'`);
}

test("an event whose queue was deleted by hand is sent, however many events an earlier visitor has", async () => {
  const disk = diskOf();
  const [early, late] = [sample("payment", { sessionId: "a" }), sample("payment", { sessionId: "b" })];
  await disk.append(early, late);
  repeat(disk, early, 10_000);
  disk.db.exec("delete from queues where visitor like '%b'");

  await disk.store.look(true);

  expect(await disk.claim(2)).toMatchObject([{ event: early }, { event: late }]);
});

test("events are sent after all queues were deleted by hand, however many there are", async () => {
  let now = Date.now();
  const disk = diskOf({ time: () => now });
  const payment = sample("payment");
  await disk.append(payment);
  repeat(disk, payment, 10_000, "visitor || nth");
  disk.db.exec("delete from queues");
  const queues = () => disk.db.prepare("select count(*) as number from queues").get().number;

  for (let minute = 0; minute < 2; minute++) {
    now += 60_000;
    await disk.store.look(true);
  }

  expect(queues()).toBe(10_001);
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

test("a head that was delivered by hand holds up no other visitor", async () => {
  const disk = diskOf();
  const [head, other] = [sample("payment"), sample("payment")];
  await disk.append(head, other);
  disk.db.exec(`update events set state = ${DONE}, visitor = '' where id = '${head.id}'`);

  expect(await disk.claim(2)).toMatchObject([{ event: other }]);
});

test("an event waits for the one with its session, even if another queue has the name of that session", async () => {
  const disk = diskOf();
  const [first, behind] = [
    sample("click", { clickId: "a" }),
    sample("click", { clickId: "a", sessionId: "s" }),
  ];
  const [gone, last] = [
    sample("click", { sessionId: "t" }),
    sample("click", { clickId: "b", sessionId: "s" }),
  ];
  await disk.append(first, behind, gone);
  // Two processes leave this behind that have stored two events of a session at the same moment.
  for (const table of ["events", "queues"])
    disk.db.exec(`update ${table} set visitor = replace(visitor, ' st', ' ss') where visitor like '% st'`);
  await disk.append(last);

  const claims = await disk.claim(3);
  expect(claims).toMatchObject([{ event: first }, { event: gone }]);
  await disk.settle(claims[1] as DiskClaim, DELIVERED);
  expect(await disk.claim(1)).toEqual([]);
  await disk.settle(claims[0] as DiskClaim, DELIVERED);
  expect(await deliverAll(disk)).toEqual(idsOf([behind, last]));
});

test("an event with a click id alone waits for the one with that id alone, whatever a session has to do with it", async () => {
  const disk = diskOf();
  const [session, click] = [sample("click", { sessionId: "s" }), sample("click", { clickId: "a" })];
  const [both, last] = [
    sample("click", { clickId: "a", sessionId: "s" }),
    sample("payment", { clickId: "a" }),
  ];
  await disk.append(session, click, both, last);

  const claims = await disk.claim(3);
  expect(claims).toHaveLength(2);
  const claimOf = ({ id }: OutboxEvent) => claims.find(({ event }) => event.id === id) as DiskClaim;
  await disk.settle(claimOf(session), DELIVERED);
  expect(await disk.claim(3)).toMatchObject([{ event: both }]);
  await disk.settle(claimOf(click), DELIVERED);
  expect(await disk.claim(3)).toMatchObject([{ event: last }]);
});
