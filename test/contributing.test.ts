import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { inlineWith } from "../inline-plugin.js";
import { fixture } from "./helpers/fixture.js";
import { scratchDirectory } from "./helpers/scratch.js";
import { startService } from "./helpers/service.js";
import { functionsOf, type Hop, tracing } from "./helpers/traced.js";

const root = resolve(import.meta.dirname, "..");
const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite");

const [, section = ""] = readFileSync(join(root, "CONTRIBUTING.md"), "utf8").split("## The way of a payment");
const hops: Hop[] = [...(section.split("\n## ")[0] ?? "").matchAll(/^\d+\. `(\S+)` `(\S+)`/gm)].map(
  ([, file = "", name = ""]) => ({ file, name }),
);

const startShop = fixture("payment", [inlineWith([tracing(hops)]), tracing(hops)]);

/** The payments in the outbox's file, and whether a process has claimed them. */
function rowsIn(directory: string): unknown[] {
  const db = new DatabaseSync(join(directory, "outbox.db"), { readOnly: true });
  try {
    return db.prepare("select kind, holdings <> '{}' as claimed from events, state").all();
  } finally {
    db.close();
  }
}

test.each(hops)("$file has one function that is named $name", ({ file, name }) => {
  expect(functionsOf(readFileSync(join(root, file), "utf8"), name)).toHaveLength(1);
});

test("a payment passes every hop, in this order, and its row is gone at the end", async () => {
  const directory = scratchDirectory();
  const trace = join(scratchDirectory(), "hops");
  const rows: unknown[][] = [];
  const service = await startService(() => {
    rows.push(rowsIn(directory));
    return { success: true, leadId: 1 };
  });
  const paid = { paymentId: "o-1", customerEmail: "ada@shop.example", leadValue: 19.9 };
  const shop = startShop([service.url, directory, trace, paid], { HOPS: trace });
  const port = await shop.next();
  const { status } = await fetch(`http://127.0.0.1:${port}/pay`, {
    method: "POST",
    headers: { cookie: "svc_click_id=c-1; svc_session_id=s-1" },
  });
  expect(status).toBe(201);
  await shop.next();
  expect((await shop.over).stderr).toBe("");

  expect(service.posted).toMatchObject([{ body: { customerEmail: "ada@shop.example", leadValue: 19.9 } }]);
  expect(rows).toEqual([[{ kind: "payment", claimed: 1 }]]);
  expect(rowsIn(directory)).toEqual([]);

  const [, passed = ""] = readFileSync(trace, "utf8").split("the handler returns\n");
  const left = passed.split("\n");
  const inOrder = hops
    .map(({ file, name }) => `${file} ${name}`)
    .filter((hop) => {
      const at = left.indexOf(hop);
      left.splice(0, at + 1);
      return at >= 0;
    });
  expect(hops.length).toBeGreaterThan(20);
  expect(inOrder).toEqual(hops.map(({ file, name }) => `${file} ${name}`));
});
