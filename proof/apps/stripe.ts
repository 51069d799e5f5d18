import { createRequire } from "node:module";
import { join } from "node:path";
import { type App, paid, taken, walkShop } from "./shared/app.js";
import { signUpByEmail, userEdits } from "./shared/better-auth.js";
import { startStripe } from "./shared/stripe-api.js";
import { makeTStack, tStack } from "./shared/t-stack.js";

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

export default {
  ...tStack,
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
    ...userEdits,
    {
      file: "shop/apps/server/src/index.ts",
      below: "const app = express();",
      add: "app.use(tracker.onClick());",
    },
    {
      file: "shop/packages/auth/src/index.ts",
      below: 'import Stripe from "stripe";',
      add: 'import { stripe as readStripe } from "express-affiliate/gateways";',
    },
    { file: "shop/packages/auth/src/index.ts", below: "createCustomerOnSignUp: true,", add: ON_EVENT },
  ],
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
      signUp: signUpByEmail,
      async pay(_visitor, { email }, nth) {
        const charge = {
          ...{ id: `ch_${nth}`, object: "charge", customer: `cus_${email}`, currency: "eur" },
          ...{ amount: 1_990, amount_captured: 1_990, captured: true },
        };
        const order = await paid(19.9, () => send("charge.succeeded", charge));
        const refunded = { ...charge, amount_refunded: 1_990, refunded: true };
        return { ...order, refund: () => send("charge.refunded", refunded) };
      },
    });
  },
} satisfies App;
