import { expect, it, vi } from "vitest";
import { bodies } from "../gateways/bodies.js";
import { browser, closing, pageToRun, startShop } from "../helpers/docs/run.js";

const page = pageToRun("docs/llms.txt");

it("docs/llms.txt has three lines that report a click, a sign-up and a payment", async () => {
  const { sandbox, env } = await startShop();
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const { app, tracker } = await page.run("The three lines", {
    users: { create: async (body: object) => ({ id: 7, name: "Ada", ...body }) },
    orders: { complete: async (body: object) => ({ id: "o1", total: 19.9, ...body }) },
  });
  vi.unstubAllEnvs();
  closing(tracker);
  app.get("/", (_req: unknown, res: { send(text: string): void }) => res.send("Welcome"));
  const visitor = browser(app);
  await visitor.get("/?ref=ALICE").expect(200);
  await visitor.post("/signup").send({ email: "ada@shop.example" }).expect(201);
  await visitor.post("/checkout").send({ email: "ada@shop.example" }).expect(200);
  await tracker.flush();
  expect(sandbox.ledger.leads()).toMatchObject([
    { kind: "registration", affiliateReference: "ALICE", customerId: "7" },
    { kind: "payment", affiliateReference: "ALICE", leadValue: 19.9 },
  ]);
});

it("the webhook of docs/llms.txt is a payment of the affiliate who led to the sign-up", async () => {
  const { tracker, sandbox } = await startShop();
  await tracker.trackClick({ affiliateReference: "ALICE", clickId: "c1", sessionId: "s1" });
  const user = { id: 7, email: "ada@shop.example", affiliate: {} };
  const users = { update: async (_id: number, row: object) => void Object.assign(user, row) };
  const req = { affiliate: { snapshot: () => ({ clickId: "c1", sessionId: "s1" }) } };
  const event = bodies.stripe.sale({ id: "ch_1", minor: 1_990 });
  await page.run("Webhooks and jobs", { tracker, req, users, user, event });
  await sandbox.ledger.waitFor({ kind: "payment", affiliateReference: "ALICE" });
});

it("the test of docs/llms.txt records what is reported", async () => {
  const { tracker, outbox } = await page.run("A test");
  closing(tracker);
  const payment = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };
  await tracker.trackPayment(payment, { sessionId: "s1" });
  expect(outbox.events).toMatchObject([{ kind: "payment", data: { paymentId: "o1", leadValue: 19.9 } }]);
});
