import { join } from "node:path";
import { Writable } from "node:stream";
import type { Affiliate } from "express-affiliate";
import pino from "pino";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { sample } from "../../src/testing/contract/samples.js";
import { directoryWith, jsonOf } from "../cli/outbox/helpers.js";
import { textOf } from "../helpers/docs/pages.js";
import { pageToRun } from "../helpers/docs/run.js";
import { startShop } from "../helpers/docs/shop.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startService } from "../helpers/service.js";

const page = pageToRun("docs/observability.md");

const payment = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };

/** One payment that is delivered, one that is refused, one that is dropped, and a click that is delivered. */
async function happen(tracker: Affiliate): Promise<void> {
  await tracker.trackClick({ affiliateReference: "ALICE" }, { clickId: "c1" });
  await tracker.trackPayment(payment, { sessionId: "s1" });
  await tracker.trackPayment({ ...payment, paymentId: "refused" }, { sessionId: "s2" });
  await tracker.trackPayment({ ...payment, leadValue: -1 }, { sessionId: "s1" });
  await tracker.trackRegistration({ email: "ada@shop.example" });
  await tracker.flush();
}

/** A service that refuses every second payment. */
async function startRefusing() {
  let payments = 0;
  const { url: baseUrl } = await startService(({ path }, res) => {
    if (path.endsWith("/payment") && ++payments === 2) res.statusCode = 422;
    return res.statusCode === 422
      ? { error: "Unprocessable", message: "no such customer: ada@shop.example", status: 422 }
      : { success: true };
  });
  return startShop({ baseUrl });
}

describe("the tables", () => {
  it("have a row for every number", async () => {
    const { tracker } = await startShop();
    const [, table = ""] = textOf("docs/observability.md").split("## Numbers");
    const rows = [...(table.split("##")[0] ?? "").matchAll(/^\| `(\w+)` \| (.*)/gm)];
    expect(rows.map(([, name]) => name).sort()).toEqual([...Object.keys(tracker.stats()), "trouble"].sort());
    for (const name of ["dead", "skipped", "dropped"] as const) {
      const row = rows.find(([, number]) => number === name)?.[0] ?? "";
      for (const reason of Object.keys(tracker.stats()[name])) expect(row).toContain(`\`${reason}\``);
    }
  });
});

describe("the command's documents", () => {
  it("have the names that the table says", async () => {
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
      for (const name of [...Object.keys(json), ...Object.keys(json.error ?? {})]) {
        expect(rows[nth]).toContain(`\`${name}\``);
      }
    }
  });
});

describe("dead letters", () => {
  it("are told of, listed, retried and discarded", async () => {
    const { app, tracker } = await startRefusing();
    const alerts: string[] = [];
    const pager = { alert: (message: string) => void alerts.push(message) };
    await page.run("Events", { tracker, pager });
    await page.run("Dead letters", { app, tracker });
    await happen(tracker);

    const { body: letters } = await request(app).get("/admin/dead-letters");
    expect(letters).toMatchObject([{ reason: "rejected", event: { customerEmail: "ada@shop.example" } }]);
    const [{ id }] = letters;
    expect(alerts).toEqual([`a payment was not delivered: rejected no such customer: [redacted] (${id})`]);

    expect(await tracker.deadLetters.discard(id)).toBe(true);
    await request(app).post(`/admin/dead-letters/${id}/retry`).expect(404);
  });

  it("are delivered when they are retried and the service takes them", async () => {
    const { app, tracker } = await startRefusing();
    await page.run("Dead letters", { app, tracker });
    await happen(tracker);
    const [letter] = await tracker.deadLetters.list();
    await request(app).post(`/admin/dead-letters/${letter?.id}/retry`).expect(204);
    await tracker.flush();
    expect(tracker.stats()).toMatchObject({ delivered: 3, dead: { rejected: 0 } });
  });
});

it("writes to pino, each line with its level", async () => {
  const lines: { level: number; msg: string }[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(chunk));
      done();
    },
  });
  const { tracker } = await startShop({ logger: pino({ level: "info" }, sink) });
  await tracker.trackPayment({ ...payment, leadValue: -1 }, { sessionId: "s1" });
  expect(lines).toMatchObject([
    { level: 40, msg: expect.stringMatching(/^express-affiliate: a payment was dropped: `leadValue`/) },
  ]);
});

it("has run every block of the page", () => {
  expect(page.notRun).toEqual([]);
});
