import assert from "node:assert/strict";
import { type Answer, type App, partsOf, taken, type Walk, walkShop } from "./shared/app.js";

const admin = { email: "admin@shop.example", password: "Correct-horse-7" };
const extension = "extensions/affiliate/dist";

/** A product that needs no parcel, sold by the shop's administrator. */
async function addProduct(walk: Walk): Promise<void> {
  const { run, environment } = walk.project;
  assert.equal(environment.NODE_ENV, "production");
  await run(["npx", "evershop", "user:create", "-n", "Admin", "-e", admin.email, "-p", admin.password]);
  const visitor = walk.visitor();
  const token = dataOf(await visitor.post("/api/user/tokens", admin)).accessToken;
  const product = {
    ...{ name: "A book", url_key: "a-book", sku: "book", status: 1, visibility: 1, qty: 100, price: 19.9 },
    ...{ group_id: 1, no_shipping_required: true, manage_stock: 1, stock_availability: 1 },
  };
  taken(await visitor.post("/api/products", product, { authorization: `Bearer ${token}` }));
}

const dataOf = (answer: Answer) => taken(answer).body.data;

export default {
  title: "EverShop, with an extension of middleware files, on PostgreSQL",
  needs: "postgres",
  environment: ({ databaseUrl }) => ({
    ...partsOf(databaseUrl),
    NODE_ENV: "production",
    JWT_ADMIN_SECRET: "a-secret-of-the-shop",
    JWT_ADMIN_REFRESH_SECRET: "another",
  }),
  async make({ install, run, write }) {
    await write("package.json", '{ "private": true, "type": "module" }');
    // It needs the second one, and does not say so.
    await install({ "@evershop/evershop": "2.2.1", "concat-stream": "2.0.0" });
    await write("config/default.json", '{\n  "system": {\n    "cod": { "status": 1 }\n  }\n}\n');
    await run(["mkdir", "-p", "media", "public", "extensions"]);
    await run(["env", "NODE_ENV=production", "npx", "evershop", "build"]);
  },
  patch: [
    { copy: "tracker.mjs", to: "tracker.mjs" },
    { copy: "evershop/affiliate.js", to: `${extension}/pages/global/[context]affiliate[auth].js` },
    {
      copy: "evershop/sign-up.js",
      to: `${extension}/api/createCustomer/[createCustomer]reportSignUp[apiResponse].js`,
    },
    { copy: "evershop/order.js", to: `${extension}/api/cartCheckout/[checkout]reportOrder[apiResponse].js` },
    {
      file: "config/default.json",
      below: '"system": {',
      add: '    "extensions": [{ "name": "affiliate", "resolve": "extensions/affiliate", "enabled": true }],',
    },
  ],
  start: ["npx", "evershop", "start"],
  ready: "/api/none",
  async walk(walk) {
    await addProduct(walk);
    await walkShop(walk, {
      landing: "/account/login",
      signUp: async (visitor, { email, name, password }) =>
        taken(await visitor.post("/api/customers", { email, password, full_name: name })),
      async pay(visitor, { email, name }) {
        const items = [{ sku: "book", qty: 1 }];
        const cart = dataOf(
          await visitor.post("/api/carts", { items, customer_email: email, customer_full_name: name }),
        );
        const checkout = () =>
          visitor.post(`/api/carts/${cart.cartId}/checkout`, {
            cart_id: cart.cartId,
            customer: { email, fullName: name },
            billingAddress: {
              ...{ full_name: name, address_1: "1 Road", city: "Town", country: "US", province: "US-NY" },
              ...{ postcode: "10001", telephone: "1234567890" },
            },
            paymentMethod: "cod",
          });
        const order = dataOf(await checkout());
        // The cart is gone: the shop refuses.
        return { value: Number(order.grand_total), payAgain: checkout };
      },
    });
  },
} satisfies App;
