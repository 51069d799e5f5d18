import { expect, test } from "vitest";
import type { DiskClaim } from "../../../src/outbox/disk/store/calls.js";
import { ENDPOINTS } from "../../../src/service/endpoints.js";
import { sample, stranger } from "../../contract/samples.js";
import { capacityOf } from "../../helpers/deliver.js";
import { appending, DELIVERED, type Disk, diskOf, settling, someOf } from "../../helpers/disk-store.js";

test.each([1, 8, 50])(
  "storing, claiming and settling %d events takes eight statements, and one for each event",
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

    expect(texts).toHaveLength(8 + batch);
  },
);

test("a claim for more than there is takes three statements, however many lanes have a limit of their own", async () => {
  const texts: string[] = [];
  // Time in which it may count again does not pass.
  const disk = diskOf({ time: () => 1, onStatement: (text) => texts.push(text) });
  await disk.append(...someOf("payment", 2));
  texts.length = 0;
  const lanes = ENDPOINTS.map((endpoint) => ({ endpoint, limit: 6 }));
  expect(await disk.calls.claim({ limit: 8, lanes })).toHaveLength(2);
  expect(texts).toHaveLength(3);
});

/** How SQLite looks for rows in the statement that has these words. */
function searchesOf({ db }: Disk, texts: readonly string[], words: string): string[] {
  const [text, ...others] = texts.filter((each) => each.includes(words));
  expect(others).toEqual([]);
  const plan = db.prepare(`explain query plan ${text}`).all();
  return plan.map(({ detail }) => detail).filter((detail) => /SCAN|SEARCH|ORDER BY/.test(detail));
}

test("to count what there is, no settled event is read, and finding a visitor's next event reads none of the others", async () => {
  const texts: string[] = [];
  const disk = diskOf({ onStatement: (text) => texts.push(text) });
  const visitor = stranger();
  await disk.append(sample("payment", visitor), sample("payment", visitor), sample("payment"));
  expect(searchesOf(disk, texts, "count(*) as number")).toEqual([
    "SCAN events USING INDEX events_by_visitor",
    expect.stringContaining("SEARCH events USING INDEX events_by_state (state=?"),
  ]);

  const claims = await disk.claim(2);
  for (const claim of claims) await disk.settle(claim, DELIVERED);
  const searches = searchesOf(disk, texts, "order by e.place");
  expect(searches.join()).not.toContain("ORDER BY");
  expect(searches.filter((each) => each.includes("SEARCH e"))).not.toEqual([]);
  for (const each of searches.filter((one) => one.includes("SEARCH e")))
    expect(each).toContain("(visitor=? AND state=? AND kind=?");
});
