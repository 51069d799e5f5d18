import type express from "express";
import { affiliate } from "express-affiliate";
import { expect, it } from "vitest";
import { bodies } from "../gateways/bodies.js";
import { rowsOf, textOf } from "../helpers/docs/pages.js";
import { pageToRun, referred, startShop } from "../helpers/docs/run.js";

const page = pageToRun("docs/options.md");

function namesUnder(heading: string, pattern: RegExp): string[] {
  const cells = rowsOf(textOf("docs/options.md"), heading).flatMap((row) => Object.values(row)[0] ?? []);
  return cells.flatMap((cell) => [...cell.matchAll(pattern)].map(([, name = ""]) => name));
}

it("docs/options.md has a heading for every option there is, with its default", () => {
  const known = (options: object) => {
    try {
      affiliate(options as never);
      return [];
    } catch (error) {
      return [...String(error).matchAll(/there are (.+)/g)].flatMap(
        ([, names = ""]) => names.match(/\w+/g) ?? [],
      );
    }
  };
  const options = known({ zzzzzzzz: 1 }).filter((name) => name !== "delivery");
  const delivery = known({ delivery: { zzzzzzzzzzzz: 1 } }).map((name) => `delivery.${name}`);
  expect(options.length).toBeGreaterThan(5);
  const [, section = ""] = textOf("docs/options.md").split(/^## Options$|^## Functions$/m);
  const headings = [...section.matchAll(/^### `([\w.]+)`$/gm)].map(([, name = ""]) => name);
  expect(headings.sort()).toEqual([...options, ...delivery].sort());
  for (const text of section.split(/^### /m).slice(1)) {
    const [, name = ""] = /^`(?:delivery\.)?(\w+)`/.exec(text) ?? [];
    expect(text).toMatch(/`\n\n[^.]*\b(?:required|[Dd]efault)/);
    // An example.
    expect(text.replace(/^.*/, "")).toMatch(new RegExp(`\\b${name}(?::|\\()`));
  }
});

it("docs/options.md has every function of a tracker, and no member of req.affiliate that is not there", async () => {
  const { app, tracker } = await startShop();
  const functions = namesUnder("Functions", /`(\w+)/g).filter((name) => name !== "tracker");
  expect(functions.sort()).toEqual(Object.keys(tracker).sort());
  const [, said = ""] = /\n(`req\.affiliate` has (?:.|\n)+?)\n\n/.exec(textOf("docs/options.md")) ?? [];
  const members = [...said.matchAll(/`(\w+)(?:\(\))?`/g)].map(([, name = ""]) => name);
  const isMissing = (name: string, of: object = {}) => name !== "undefined" && !(name in of);
  app.get("/", (req, res) => void res.json(members.filter((name) => isMissing(name, req.affiliate))));
  expect(members).toContain("snapshot");
  await referred(app).get("/").expect(200, []);
});

it("docs/options.md reports beside a handler that cannot be changed", async () => {
  const { app, tracker, sandbox } = await startShop();
  const order = { id: "o1", email: "ada@shop.example", total: 19.9 };
  const completeCheckout: express.RequestHandler = (_req, res) => {
    res.locals.order = order;
    res.json(order);
  };
  await page.run("Wrappers", { app, tracker, completeCheckout });
  await referred(app).post("/checkout/complete").expect(200);
  await sandbox.ledger.waitFor({ kind: "payment", sessionId: "s1", leadValue: 19.9 });
});

/** A customer signs up with both cookies, and the gateway tells of their payment. */
async function payMonthsLater(consent: boolean) {
  const { app, tracker, sandbox } = await startShop({ consent: () => consent });
  const user = { id: 7, email: "ada@shop.example" };
  const users = { update: async (_id: number, row: object) => Object.assign(user, row) };
  app.post("/", async (req, res) => {
    const event = bodies.stripe.sale({ id: "ch_1", minor: 1_990 });
    await page.run("Webhooks and jobs", { tracker, req, users, user, event });
    res.end();
  });
  await referred(app).post("/").expect(200);
  return { tracker, sandbox };
}

it("docs/options.md reports months later with the snapshot", async () => {
  const { sandbox } = await payMonthsLater(true);
  await sandbox.ledger.waitFor({ kind: "payment", sessionId: "s1", leadValue: 19.9 });
});

it("docs/options.md reports nothing months later of a visitor who declined", async () => {
  const { tracker, sandbox } = await payMonthsLater(false);
  await tracker.flush();
  expect(tracker.stats().skipped["no-attribution"]).toBe(1);
  expect(sandbox.ledger.requests()).toEqual([]);
});
