import type { Express } from "express";
import { affiliate } from "express-affiliate";
import { createSandbox, type Sandbox } from "express-affiliate/sandbox";
import { eachExpress } from "../../test/helpers/express.js";
import { functionOf, type Handler, visitorOf } from "./lambda/visitor.js";
import { countScene, emailOf, referenceOf, type Visitor } from "./shared/census.js";
import { installed } from "./shared/packages.js";
import type { Part, Scene } from "./shared/part.js";
import { addRoutes } from "./shared/shop.js";

const ADAPTERS = { "@codegenie/serverless-express": "5.0.0", "@vendia/serverless-express": "4.12.6" };

type Adapter = (options: { app: Express }) => Handler;

export default {
  title: "a shop on Lambda behind a serverless adapter, which freezes after each response",
  async prove({ short }) {
    const load = await installed(ADAPTERS);
    const sandbox = await createSandbox();
    const scenes: Scene[] = [];
    for (const name of Object.keys(ADAPTERS)) {
      const adapter = (await load(name)).default as Adapter;
      for (const each of eachExpress) {
        const what = `${name}, ${each.name}`;
        scenes.push(await walk(what, each.express, adapter, sandbox, short ? 3 : 20));
      }
    }
    await sandbox.close();
    return { scenes };
  },
} satisfies Part;

/** Each invocation returns, and has delivered what it reported, as docs/serverless.md says. */
async function walk(name: string, express: () => Express, adapter: Adapter, sandbox: Sandbox, count: number) {
  const pending: Promise<void>[] = [];
  const { url: baseUrl, clientId, apiKey } = sandbox;
  const tracker = affiliate({
    baseUrl,
    clientId,
    apiKey,
    logger: { warn: () => {}, error: console.error },
    waitUntil: (promise) => pending.push(promise),
  });
  const app = express();
  app.use(tracker, tracker.onClick());
  app.get("/", (_req, res) => void res.cookie("basket", "empty").send("<title>Shop</title>"));
  addRoutes(app, tracker);
  app.post(
    "/picked",
    tracker.onPayment(
      (_req, res) => void res.json({ ok: true }),
      ({ body }) => ({ paymentId: body.order, customerEmail: body.email, leadValue: 19.9 }),
    ),
  );
  const invoke = functionOf(adapter({ app }), pending);

  const reference = referenceOf(name, "a");
  const wrong: string[] = [];
  const visitors: Visitor[] = [];
  for (let nth = 0; nth < count; nth++) {
    const email = emailOf(name, nth);
    const visitor = visitorOf(invoke);
    for (let opened = 0; opened < 3; opened++) await visitor.open(`/?ref=${reference}`);
    if (!visitor.cookies.has("basket")) wrong.push(`${email} has no cookie of the page's own`);
    await visitor.post("/signup", { email });
    await visitor.post(nth % 2 ? "/checkout" : "/picked", { email, order: email });
    visitors.push({ email, clicks: [reference], credited: reference });
    if (tracker.stats().queued > 0) wrong.push(`${email} has left before all was delivered`);
  }
  await tracker.close();
  return countScene(name, visitors, sandbox.ledger, wrong);
}
