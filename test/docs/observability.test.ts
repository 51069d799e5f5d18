import { join } from "node:path";
import { expect, it } from "vitest";
import { directoryWith, jsonOf } from "../cli/outbox/helpers.js";
import { sample } from "../contract/samples.js";
import { textOf } from "../helpers/docs/pages.js";
import { pageToRun, reportAll, startRefusing, startShop } from "../helpers/docs/run.js";
import { scratchDirectory } from "../helpers/scratch.js";

const page = pageToRun("docs/observability.md");

it("the tables have a row for every number", async () => {
  const { tracker } = await startShop();
  const [, table = ""] = textOf("docs/observability.md").split("## Numbers");
  const rows = [...(table.split("##")[0] ?? "").matchAll(/^\| `(\w+)` \| (.*)/gm)];
  expect(rows.map(([, name]) => name).sort()).toEqual([...Object.keys(tracker.stats()), "trouble"].sort());
  for (const name of ["dead", "skipped", "dropped"] as const) {
    const row = rows.find(([, number]) => number === name)?.[0] ?? "";
    for (const reason of Object.keys(tracker.stats()[name])) expect(row).toContain(`\`${reason}\``);
  }
});

it("the command's documents have the names that the table says", async () => {
  const letter = sample("payment");
  const directory = await directoryWith({ dead: [letter] });
  const [, table = ""] = textOf("docs/observability.md").split("| action | document |");
  const rows = (table.split("\n\n")[0] ?? "").split("\n").filter((row) => /^\| (`|any)/.test(row));
  const documents = [
    await jsonOf([directory, "status"]),
    await jsonOf([directory, "list"]),
    await jsonOf([directory, "person", "ada@shop.example"]),
    await jsonOf([directory, "retry", "unknown"]),
    await jsonOf([directory, "discard", letter.id]),
    await jsonOf([directory, "hold"]),
    await jsonOf([directory, "backup", join(scratchDirectory(), "backup.db")]),
    await jsonOf([`${directory}/missing`, "status"]),
  ];
  expect(rows).toHaveLength(documents.length);
  for (const [nth, { json }] of documents.entries()) {
    for (const name of Object.keys({ ...json, ...json.error })) expect(rows[nth]).toContain(`\`${name}\``);
  }
});

it("dead letters are reported, listed and discarded", async () => {
  const { tracker } = await startRefusing();
  const alerts: string[] = [];
  await page.run("Events", { tracker, pager: { alert: (message: string) => void alerts.push(message) } });
  await reportAll(tracker);

  const letters = await tracker.deadLetters.list();
  expect(letters).toMatchObject([{ reason: "rejected", event: { customerEmail: "ada@shop.example" } }]);
  const id = letters[0]?.id ?? "";
  expect(alerts).toEqual([`a payment was not delivered: rejected no such customer: [redacted] (${id})`]);

  expect(await tracker.deadLetters.discard(id)).toBe(true);
  expect(await tracker.deadLetters.retry(id)).toBe(false);
});
