import { expect, test } from "vitest";
import type { DiskClaim } from "../../../src/outbox/disk/store/calls.js";
import { ENDPOINTS } from "../../../src/service/endpoints.js";
import { capacityOf } from "../../helpers/deliver.js";
import { appending, DELIVERED, diskOf, settling, someOf } from "../../helpers/disk-store.js";

test.each([1, 8, 50])(
  "storing, claiming and settling %d events takes eleven statements and two transactions",
  async (batch) => {
    const texts: string[] = [];
    let now = Date.now();
    const disk = diskOf({ time: () => now, onStatement: (text) => texts.push(text) });
    const claim = { name: "claim", args: [capacityOf(batch)] } as const;

    async function round(): Promise<void> {
      const { results } = await disk.run(...someOf("payment", batch).map(appending), claim);
      const claims = results.at(-1) as DiskClaim[];
      expect(claims).toHaveLength(batch);
      await disk.run(...claims.map((each) => settling(each, DELIVERED)));
    }
    await round();
    texts.length = 0;
    // Less than after which it counts again.
    now += 1;
    await round();

    expect(texts).toHaveLength(11);
  },
);

test("a claim for more than there is takes three statements, however many lanes have a limit of their own", async () => {
  const texts: string[] = [];
  // Time in which it may count again does not pass.
  const disk = diskOf({ time: () => 1, onStatement: (text) => texts.push(text) });
  await disk.append(...someOf("payment", 2));
  texts.length = 0;
  const lanes = ENDPOINTS.map((endpoint) => ({ endpoint, limit: 6 }));
  const capacity = { limit: 8, lanes };
  expect(await disk.calls.claim(capacity)).toHaveLength(2);
  expect(texts).toHaveLength(3);
});

test("to count what there is, no settled event is read", async () => {
  const texts: string[] = [];
  const disk = diskOf({ onStatement: (text) => texts.push(text) });
  await disk.append(...someOf("payment", 3));
  const counting = texts.filter((text) => text.includes("count(*) as number"));
  expect(counting).toHaveLength(1);

  const plan = disk.db.prepare(`explain query plan ${counting[0]}`).all();
  const reads = plan.map(({ detail }) => detail).filter((detail) => /SCAN|SEARCH/.test(detail));

  expect(reads).toEqual([
    "SCAN events USING INDEX events_by_visitor",
    expect.stringContaining("SEARCH events USING INDEX events_by_state (state=?"),
  ]);
});

test("finding a visitor's next event reads none of the others", async () => {
  const texts: string[] = [];
  const disk = diskOf({ onStatement: (text) => texts.push(text) });
  await disk.append(...someOf("payment", 1));
  const [claim] = await disk.claim(1);
  await disk.settle(claim as DiskClaim, DELIVERED);
  const next = texts.filter((text) => text.includes("order by e.place"));
  expect(next).toHaveLength(1);

  const plan = disk.db.prepare(`explain query plan ${next[0]}`).all();
  const details = plan.map(({ detail }) => detail);
  const searches = details.filter((detail) => detail.includes("SEARCH e"));

  expect(searches).not.toEqual([]);
  for (const search of searches) expect(search).toContain("(visitor=? AND state=? AND kind=?");
  for (const detail of details) expect(detail).not.toContain("ORDER BY");
});
