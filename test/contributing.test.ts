import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inlineWith } from "../inline-plugin.js";
import { DONE } from "../src/outbox/queue/rows.js";
import { textOf } from "./helpers/docs/pages.js";
import { fixture } from "./helpers/fixture.js";
import { scratchDirectory } from "./helpers/scratch.js";
import { startService } from "./helpers/service.js";
import { tracing } from "./helpers/traced.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite");

const [, section = ""] = textOf("CONTRIBUTING.md").split("## The way of a payment");
const [list = ""] = section.split("\n## ");
const named = [...list.matchAll(/`(src\/\S*)`/g)].map(([, folder = ""]) => folder);
// They serve all others.
const SERVE = ["src/shared/"];

const startShop = fixture("payment", [inlineWith([tracing]), tracing]);

/** The payments in the outbox's file. */
function rowsIn(directory: string): unknown[] {
  const db = new DatabaseSync(join(directory, "outbox.db"), { readOnly: true });
  try {
    return db.prepare("select state, data from events").all();
  } finally {
    db.close();
  }
}

test("a payment passes the folders that CONTRIBUTING names, is in the outbox's file while it is sent, and leaves its id alone at the end", async () => {
  const directory = scratchDirectory();
  const passed = join(scratchDirectory(), "passed");
  const rows: unknown[][] = [];
  const service = await startService(() => {
    rows.push(rowsIn(directory));
    return { success: true, leadId: 1 };
  });
  const paid = { paymentId: "o-1", customerEmail: "ada@shop.example", leadValue: 19.9 };
  const shop = startShop([service.url, directory, passed, paid], { PASSED: passed });
  const { status } = await fetch(`http://127.0.0.1:${await shop.next()}/pay`, {
    method: "POST",
    headers: { cookie: "svc_click_id=c-1; svc_session_id=s-1" },
  });
  expect(status).toBe(201);
  const { notices } = await shop.next();
  expect((await shop.over).stderr).toBe("");

  expect(notices).toEqual(["queued", "attempt", "delivered"]);
  expect(service.posted).toMatchObject([{ body: { customerEmail: "ada@shop.example", leadValue: 19.9 } }]);
  expect(rows).toEqual([[{ state: 1, data: expect.stringContaining("ada@shop.example") }]]);
  expect(rowsIn(directory)).toEqual([{ state: DONE, data: "" }]);

  const [, afterwards = ""] = readFileSync(passed, "utf8").split("the handler returns\n");
  const folders = new Set(afterwards.trim().split("\n"));
  for (const folder of SERVE) folders.delete(folder);
  expect([...folders].sort()).toEqual([...new Set(named)].sort());
});
