import { createRequire } from "node:module";
import { join } from "node:path";
import express from "express";
import { serve } from "../shared/serve.js";
import type { App, Beside } from "./shared/app.js";
import { inFile } from "./shared/patch.js";
import type { Project } from "./shared/project.js";
import { taken, walkShop } from "./shared/walk.js";

const SECRET = "whsec_proof";

/** As the plugin's documentation has it. */
const PLUGIN = `plugins: [
      stripe({
        stripeClient: new Stripe("sk_test_proof", { host: "127.0.0.1", port: process.env.STRIPE_PORT, protocol: "http" }),
        stripeWebhookSecret: "${SECRET}",
        createCustomerOnSignUp: true,
      }),
    ]`;

const ON_EVENT = `
        onEvent: async (event) => {
          const told = readStripe(event);
          if (told?.type !== "payment") return;
          const user = await database.query.user.findFirst({ where: { stripeCustomerId: told.customerId ?? "" } });
          if (user) await tracker.trackPayment({ ...told.payment, customerEmail: user.email }, user.affiliate);
        },
`;

const FIELDS_AND_HOOKS = `    user: {
      additionalFields: {
        affiliate: { type: "string", required: false, input: false, returned: false },
      },
    },
    databaseHooks: {
      user: {
        create: {
          before: async (user, context) => ({
            data: { ...user, affiliate: JSON.stringify(attributionIn(context)) },
          }),
          after: async (user, context) => {
            const registration = { email: user.email, customerId: user.id, customerName: user.name };
            await tracker.trackRegistration(registration, attributionIn(context));
          },
        },
      },
    },`;

const ATTRIBUTION = `
const attributionIn = (context: { headers?: Headers } | null) =>
  context?.headers ? tracker.attributionOf(context.headers) : {};`;

const CREATE = `npx create-better-t-stack create shop --frontend none --backend express --runtime node --api trpc
  --auth better-auth --database postgres --orm drizzle --db-setup none --payments none --addons none --examples todo
  --no-git --no-install --package-manager npm --web-deploy none --server-deploy none --disable-analytics --no-render-title`;

/** Makes the app of create-better-t-stack in `shop`: Express, tRPC, better-auth and Drizzle. */
async function makeTStack({ write, install, run }: Project): Promise<void> {
  await write("package.json", '{ "private": true }');
  await install({ "create-better-t-stack": "3.44.1" });
  await run(CREATE.split(/\s+/));
  await run(["rm", "-r", "node_modules", "package.json", "package-lock.json"]);
  // Its packages want versions of each other that do not go together, and its bundler is not to be
  // had without one that is unpublished. It runs without that bundler, as in development.
  await write("shop/.npmrc", "legacy-peer-deps=true\n");
  await run(["npm", "pkg", "delete", "devDependencies.tsdown"], "shop/apps/server");
  await run(["rm", "tsdown.config.ts"], "shop/apps/server");
  await run([
    "sed",
    "-i",
    "s/app.listen(3000,/app.listen(process.env.PORT,/",
    "shop/apps/server/src/index.ts",
  ]);
  await install({}, "shop");
}

/** What a shop asks of Stripe at a sign-up, on `STRIPE_PORT`. A customer's id is `cus_ADDRESS`. */
async function startStripe(): Promise<Beside> {
  const app = express();
  app.use(express.urlencoded());
  app.get("/v1/customers/search", (_req, res) => void res.json({ object: "search_result", data: [] }));
  app.post("/v1/customers", (req, res) => {
    res.json({ object: "customer", id: `cus_${req.body.email}`, email: req.body.email, metadata: {} });
  });
  // A change of the user's row changes the customer.
  app.use(
    "/v1/customers/:id",
    (req, res) => void res.json({ object: "customer", id: req.params.id, metadata: {} }),
  );
  const { port, stop } = await serve(app);
  return { environment: { STRIPE_PORT: String(port) }, stop };
}

export default {
  node: 24,
  needs: "postgres",
  environment: ({ port }) => ({
    BETTER_AUTH_URL: `http://localhost:${port}`,
    BETTER_AUTH_SECRET: "a-secret-of-thirty-two-characters",
    CORS_ORIGIN: `http://localhost:${port}`,
  }),
  root: "shop",
  title:
    "Stripe's SDK with signed webhooks: the app of create-better-t-stack, with better-auth's plugin for Stripe",
  beside: startStripe,
  async make(project) {
    await makeTStack(project);
    await project.install({ "@better-auth/stripe": "1.7.5", stripe: "22.6.2" }, "shop");
    const auth = "shop/packages/auth/src/index.ts";
    const text = await project.read(auth);
    const imports = 'import { stripe } from "@better-auth/stripe";\nimport Stripe from "stripe";\n';
    await project.write(auth, imports + text.replace("plugins: []", () => PLUGIN));
    const schema = "shop/packages/db/src/schema/auth.ts";
    const column = 'stripeCustomerId: text("stripe_customer_id"),\n  image: text("image"),';
    await project.write(schema, (await project.read(schema)).replace('image: text("image"),', column));
  },
  patch: [
    { copy: "tracker.ts", to: "shop/packages/auth/src/tracker.ts" },
    ...inFile(
      "shop/packages/auth/src/index.ts",
      { below: 'from "better-auth";', add: `import { tracker } from "./tracker";\n${ATTRIBUTION}` },
      { below: "emailAndPassword:", add: FIELDS_AND_HOOKS },
      {
        below: 'import Stripe from "stripe";',
        add: 'import { stripe as readStripe } from "express-affiliate/gateways";',
      },
      { below: "createCustomerOnSignUp: true,", add: ON_EVENT },
    ),
    {
      file: "shop/packages/db/src/schema/auth.ts",
      below: 'image: text("image"),',
      add: '  affiliate: text("affiliate"),',
    },
    ...inFile(
      "shop/apps/server/src/index.ts",
      {
        below: 'from "@shop/api/routers/index";',
        add: 'import { tracker } from "@shop/auth/tracker";',
      },
      { below: "const app = express();", add: "app.use(tracker.onClick());" },
    ),
  ],
  /** Creates its tables, and has TypeScript check it, as its own scripts do. */
  async prepare({ run }) {
    await run(["npx", "drizzle-kit", "push", "--force"], "shop/packages/db");
    await run(["npm", "run", "check-types"], "shop/apps/server");
  },
  start: ["sh", "-c", "cd shop/apps/server && exec npx tsx src/index.ts"],
  walk(walk) {
    const load = createRequire(join(walk.project.folder, "shop/package.json"));
    const stripe = new (load("stripe"))("sk_test_proof");

    /** A webhook of Stripe, signed as Stripe signs it. */
    async function send(type: string, object: object): Promise<void> {
      const payload = JSON.stringify({ id: `evt_${Date.now()}`, object: "event", type, data: { object } });
      const signature = stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET });
      const headers = { "content-type": "application/json", "stripe-signature": signature };
      taken(await walk.visitor().send("POST", "/api/auth/stripe/webhook", headers, payload));
    }

    return walkShop(walk, {
      signUp: async (visitor, { email, name, password }) =>
        taken(await visitor.post("/api/auth/sign-up/email", { email, name, password })),
      async pay(_visitor, { email }, nth) {
        const charge = {
          ...{ id: `ch_${nth}`, object: "charge", customer: `cus_${email}`, currency: "eur" },
          ...{ amount: 1_990, amount_captured: 1_990, captured: true },
        };
        const pay = () => send("charge.succeeded", charge);
        await pay();
        const refunded = { ...charge, amount_refunded: 1_990, refunded: true };
        return { value: 19.9, payAgain: pay, refund: () => send("charge.refunded", refunded) };
      },
    });
  },
} satisfies App;
