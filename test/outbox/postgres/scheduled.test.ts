import { expect, test } from "vitest";
import { sample, scheduledSample, stranger } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { testScheduledPayments } from "../sql/scheduled-payments.js";

const HOUR_MS = 3_600_000;

describeWithPostgres("scheduled payments", (database) => {
  const { create, sql } = database;

  testScheduledPayments(database, ({ id }) =>
    sql("update $schema.scheduled set not_before = now() where id = $1", [id]),
  );

  test("wait for the end of a host's transaction that has reported their visitor, and hold up no other", async () => {
    await using stage = await Stage.open(() => create());
    const visitor = stranger();
    const [own, other] = [scheduledSample(HOUR_MS, visitor), scheduledSample(HOUR_MS)];
    stage.start();
    await stage.add(own, other);
    const host = await database.begin();
    await stage.outbox.add(sample("payment", visitor), host);
    await sql("update $schema.scheduled set not_before = now()");
    await stage.delivers(other);
    expect(await sql("select count(*)::integer as number from $schema.scheduled")).toEqual([{ number: 1 }]);
    await host.end("rollback");
    await stage.delivers(own);
  });
});
