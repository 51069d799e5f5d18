import { expect, test } from "vitest";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { testServerClocks } from "../../helpers/server-clocks.js";

describeWithMariaDb("a MariaDB server whose clock is set", (database) => {
  testServerClocks(database);

  test("ahead when the outbox is made, and then right, forgets no id delivered afterwards", async () => {
    await using stage = await Stage.open(() => database.create());
    let ahead = 31 * 86_400_000;
    const pool = database.virtualPool({ now: () => Date.now() + ahead });
    await database.forget(pool);
    ahead = 0;
    const { live, settle } = await stage.handOver(sample("payment"));
    settle({ type: "delivered" });
    await stage.empty();

    await database.forget(pool);

    expect(await stage.outbox.add(live.event)).toBe("duplicate");
  });
});
