import { expect, test } from "vitest";
import type { OutboxEvent } from "../../../src/conversion/events.js";
import { binary, due, NOW } from "../../../src/outbox/mysql/literals.js";
import { idsOf, sample, scheduledSample, stranger } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { testScheduledPayments } from "../sql/scheduled-payments.js";

const HOUR_MS = 3_600_000;

describeWithMariaDb("scheduled payments", (database) => {
  const { create, sql, begin } = database;

  const makeDue = (...events: readonly OutboxEvent[]) =>
    sql(
      `update $prefixevents set ${due(NOW)}
       where state = 'scheduled' and id in (${events.map(({ id }) => binary(id)).join()})`,
    );
  const scheduledIds = async () =>
    idsOf(await sql("select lower(hex(id)) as id from $prefixevents where state = 'scheduled'"));

  testScheduledPayments(database, makeDue);

  test("are cancelled beside a host's open transaction that has reported them again, or their visitor", async () => {
    await using stage = await Stage.open(() => create());
    stage.start();
    const visitor = stranger();
    const payment = scheduledSample(HOUR_MS, visitor);
    await stage.add(payment);
    const host = await begin();
    expect(await stage.outbox.add(payment, host)).toBe("duplicate");
    expect(await stage.outbox.add(sample("payment", visitor), host)).toBe("queued");
    // Nothing here waits for the transaction: it is ended after this.
    expect(await stage.outbox.cancel?.(payment.id)).toBe("cancelled");
    await host.end("rollback");
    await makeDue(payment);
    expect(await scheduledIds()).toEqual([]);
    const other = sample("payment");
    await stage.add(other);
    await stage.delivers(other);
  });

  test("go to their queue when they are due, and a host's open transaction holds up the one beside its own alone", async () => {
    await using stage = await Stage.open(() => create());
    const visitor = stranger();
    // In an index of ids, a payment before one that is open waits for it: MariaDB takes the lock of
    // the next row, too.
    const withId = (event: OutboxEvent, digit: string) => ({ ...event, id: digit.padEnd(32, "0") });
    const first = withId(scheduledSample(HOUR_MS), "1");
    const beside = withId(scheduledSample(HOUR_MS), "3");
    const open = withId(sample("payment", visitor), "4");
    const own = withId(scheduledSample(HOUR_MS, visitor), "5");
    stage.start();
    await stage.add(beside, own, first);
    const host = await begin();
    await stage.outbox.add(open, host);
    await makeDue(beside, own, first);
    const sent = [await stage.delivery.deliverNext(), await stage.delivery.deliverNext()];
    expect(sent.sort()).toEqual([first.id, own.id]);
    expect(await scheduledIds()).toEqual([beside.id]);
    await host.end("commit");
    const later = [await stage.delivery.deliverNext(), await stage.delivery.deliverNext()];
    expect(later.sort()).toEqual([beside.id, open.id]);
  });
});
