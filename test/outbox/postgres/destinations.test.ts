import { expect, test } from "vitest";
import { DESTINATION, sample } from "../../../src/testing/contract/samples.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

const OTHER = 43;

describeWithPostgres("destinations", (database) => {
  const { create, reopen } = database;

  test("an outbox that was not started counts and lists all destinations", async () => {
    const outbox = await create();
    await outbox.add(sample("click"));
    await outbox.add({ ...sample("payment"), destination: OTHER });
    await outbox.close();

    const onlooker = await reopen();
    const counts = await onlooker.look();

    expect(counts.byDestination).toEqual({ [DESTINATION]: 1, [OTHER]: 1 });
    expect(counts.queued).toBe(2);
    await onlooker.close();
  });
});
