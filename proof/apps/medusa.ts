import { type Answer, type App, taken, type Walk, walkShop } from "./shared/app.js";

const CONFIG = `const { defineConfig } = require("@medusajs/framework/utils");

module.exports = defineConfig({
  admin: { disable: true },
  projectConfig: {
    databaseUrl: process.env.DATABASE_URL,
    databaseDriverOptions: { ssl: false, sslmode: "disable" },
    http: { storeCors: "*", adminCors: "*", authCors: "*", jwtSecret: "a secret", cookieSecret: "a secret" },
  },
});
`;

const admin = { email: "admin@shop.example", password: "Correct-horse-7" };

const bodyOf = (answer: Answer) => taken(answer).body;

/** What its administrator sets up: a region, and a product that is sold there. */
async function openShop(walk: Walk) {
  await walk.project.run(["npx", "medusa", "user", "-e", admin.email, "-p", admin.password]);
  const visitor = walk.visitor();
  const { token } = bodyOf(await visitor.post("/auth/user/emailpass", admin));
  const create = async (path: string, body: object) =>
    bodyOf(await visitor.post(`/admin/${path}`, body, { authorization: `Bearer ${token}` }));
  const { sales_channel } = await create("sales-channels", { name: "Shop" });
  const { api_key } = await create("api-keys", { title: "Shop", type: "publishable" });
  await create(`api-keys/${api_key.id}/sales-channels`, { add: [sales_channel.id] });
  const { region } = await create("regions", {
    ...{ name: "Europe", currency_code: "eur", countries: ["de"], payment_providers: ["pp_system_default"] },
  });
  const { product } = await create("products", {
    ...{ title: "A book", status: "published", sales_channels: [{ id: sales_channel.id }] },
    options: [{ title: "Cover", values: ["Soft"] }],
    variants: [
      {
        ...{ title: "Soft", manage_inventory: false, options: { Cover: "Soft" } },
        prices: [{ amount: 19.9, currency_code: "eur" }],
      },
    ],
  });
  return { key: api_key.token, region: region.id, variant: product.variants[0].id };
}

export default {
  title: "Medusa, with a subscriber of order.placed, on PostgreSQL",
  needs: "postgres",
  environment: () => ({ NODE_ENV: "production", MEDUSA_DISABLE_TELEMETRY: "true" }),
  async make({ install, write }) {
    await write("package.json", '{ "name": "shop", "private": true }');
    await install({
      "@medusajs/medusa": "2.21.2",
      "@medusajs/framework": "2.21.2",
      "@medusajs/cli": "2.21.2",
    });
    await write("medusa-config.js", CONFIG);
  },
  patch: [
    { copy: "tracker.cjs", to: "src/tracker.js" },
    { copy: "medusa/middlewares.js", to: "src/api/middlewares.js" },
    { copy: "medusa/report.js", to: "src/subscribers/report.js" },
  ],
  prepare: async ({ run, write }) => {
    // Its storefront is another program. This is the page on which visitors land.
    await write("src/api/welcome/route.js", 'exports.GET = (_req, res) => res.send("Welcome");\n');
    await run(["npx", "medusa", "db:migrate"]);
  },
  start: ["npx", "medusa", "start"],
  ready: "/health",
  async walk(walk) {
    const { key, region, variant } = await openShop(walk);
    const headers = { "x-publishable-api-key": key };
    await walkShop(walk, {
      landing: "/welcome",
      async signUp(visitor, { email, password }) {
        const way = "/auth/customer/emailpass/register";
        const authorization = `Bearer ${bodyOf(await visitor.post(way, { email, password })).token}`;
        taken(await visitor.post("/store/customers", { email }, { ...headers, authorization }));
      },
      async pay(visitor, { email }) {
        const post = async (path: string, body: object = {}) =>
          bodyOf(await visitor.post(`/store/${path}`, body, headers));
        const items = [{ variant_id: variant, quantity: 1 }];
        const { cart } = await post("carts", { region_id: region, email, items });
        const { payment_collection } = await post("payment-collections", { cart_id: cart.id });
        const way = { provider_id: "pp_system_default" };
        await post(`payment-collections/${payment_collection.id}/payment-sessions`, way);
        const complete = () => post(`carts/${cart.id}/complete`);
        const { order } = await complete();
        if (!order) throw new Error("the cart is not complete");
        return { value: order.total, payAgain: complete };
      },
    });
  },
} satisfies App;
