import pg from "pg";
import { type App, inFile, partsOf, taken, type Visitor, walkShop } from "./shared/app.js";

const VERSION = "3.7.3";

/** The files of `npx @vendure/create --ci --db postgres`, without the container that it starts. */
const GENERATE = `
const { copyFileSync, mkdirSync, writeFileSync } = require("node:fs");
const { dirname } = require("node:path");

const create = dirname(require.resolve("@vendure/create/package.json"));
const { getCiConfiguration } = require(create + "/lib/gather-user-responses.js");
const { getPackageManagerInfo, registerTemplateHelpers } = require(create + "/lib/helpers.js");

async function generate() {
  registerTemplateHelpers(getPackageManagerInfo("npm"));
  const sources = await getCiConfiguration(process.cwd(), "npm", 3000, undefined, "postgres");
  mkdirSync("src");
  writeFileSync("src/vendure-config.ts", sources.configSource);
  writeFileSync("src/index.ts", sources.indexSource);
  writeFileSync("src/environment.d.ts", sources.envDtsSource);
  writeFileSync(".env", sources.envSource);
  for (const [from, to = from] of [["tsconfig.template.json", "tsconfig.json"], ["initial-data.json"], ["products.csv"]])
    copyFileSync(create + "/assets/" + from, to);
}
generate();
`;

/** As that command fills the database. */
const POPULATE = `
require("ts-node").register({ transpileOnly: true });
const { bootstrap } = require("@vendure/core");
const { populate } = require("@vendure/core/cli");
const { config } = require("./src/vendure-config");

const dbConnectionOptions = { ...config.dbConnectionOptions, synchronize: true };
const importExportOptions = { importAssetsDir: __dirname };
populate(() => bootstrap({ ...config, dbConnectionOptions, importExportOptions }), __dirname + "/initial-data.json", __dirname + "/products.csv")
  .then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
`;

async function ask(visitor: Visitor, query: string, variables: object = {}) {
  const { body } = taken(await visitor.post("/shop-api", { query, variables }));
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return body.data;
}

/** A mutation of the shop that answers with one of several types. */
async function change(visitor: Visitor, mutation: string, variables: object, types: string) {
  const data = await ask(visitor, mutation, variables);
  const [answer] = Object.values(data) as { __typename: string }[];
  if (!answer || !types.includes(answer.__typename)) throw new Error(JSON.stringify(data));
  return data;
}

export default {
  title: "Vendure, with a plugin on its event bus, on PostgreSQL",
  needs: "postgres",
  environment: ({ databaseUrl }) => ({ ...partsOf(databaseUrl), VENDURE_DISABLE_TELEMETRY: "true" }),
  async make({ install, run, write }) {
    await write("package.json", '{ "name": "shop", "private": true }');
    const own = ["core", "email-plugin", "asset-server-plugin", "graphiql-plugin", "create"];
    await install({
      ...Object.fromEntries(own.map((name) => [`@vendure/${name}`, VERSION])),
      dotenv: "17.2.3",
      pg: "8.16.3",
      typescript: "5.8.2",
      "ts-node": "10.9.2",
    });
    await write("generate.cjs", GENERATE);
    await run(["node", "generate.cjs"]);
    await run(["mkdir", "-p", "static/email"]);
    // Without its dashboard, which is a project of its own.
    const config = "src/vendure-config.ts";
    await run(["sed", "-i", "/DashboardPlugin.init/,/^        }),/d; /dashboard\\/plugin/d", config]);
    await run(["sed", "-i", '/"references"/,/}]/d', "tsconfig.json"]);
    await run(["cp", "-r", "node_modules/@vendure/email-plugin/templates", "static/email/templates"]);
    // Two products are enough.
    await run(["sed", "-i", "4,$d", "products.csv"]);
  },
  patch: [
    { copy: "tracker.mjs", to: "src/tracker.ts" },
    { copy: "vendure/affiliate.plugin.ts", to: "src/affiliate.plugin.ts" },
    ...inFile(
      "src/vendure-config.ts",
      { below: "import 'dotenv/config';", add: "import { AffiliatePlugin } from './affiliate.plugin';" },
      { below: "plugins: [", add: "        AffiliatePlugin," },
    ),
  ],
  async prepare({ run, write }) {
    await write("populate.js", POPULATE);
    await run(["npx", "tsc", "--noEmit", "-p", "."]);
    await run(["node", "populate.js"]);
  },
  start: ["node", "-r", "ts-node/register/transpile-only", "src/index.ts"],
  ready: "/health",
  walk: (walk) =>
    walkShop(walk, {
      landing: "/health",
      async signUp(visitor, { email, name, password }) {
        const input = { emailAddress: email, firstName: name, lastName: "", password };
        const register = `mutation ($input: RegisterCustomerInput!) {
          registerCustomerAccount(input: $input) { __typename ... on ErrorResult { message } }
        }`;
        await change(visitor, register, { input }, "Success");
        // The e-mail to the customer has it.
        const database = new pg.Client({ connectionString: walk.project.environment.DATABASE_URL });
        await database.connect();
        const { rows } = await database.query(
          'select "verificationToken" as token from authentication_method where identifier = $1',
          [email],
        );
        await database.end();
        const verify = `mutation ($token: String!) {
          verifyCustomerAccount(token: $token) { __typename ... on ErrorResult { message } }
        }`;
        await change(visitor, verify, rows[0], "CurrentUser");
      },
      async pay(visitor) {
        const { products } = await ask(visitor, "{ products { items { variants { id } } } }");
        const order = "__typename ... on Order { code totalWithTax state } ... on ErrorResult { message }";
        const changeOrder = (field: string, type = "Order") =>
          change(visitor, `mutation { ${field} { ${order} } }`, {}, type);
        await changeOrder(
          `addItemToOrder(productVariantId: "${products.items[0].variants[0].id}", quantity: 1)`,
        );
        const address = '{ fullName: "Ada", streetLine1: "1 Road", city: "London", countryCode: "GB" }';
        await changeOrder(`setOrderShippingAddress(input: ${address})`);
        const { eligibleShippingMethods } = await ask(visitor, "{ eligibleShippingMethods { id } }");
        await changeOrder(`setOrderShippingMethod(shippingMethodId: ["${eligibleShippingMethods[0].id}"])`);
        await changeOrder('transitionOrderToState(state: "ArrangingPayment")');
        const pay = 'addPaymentToOrder(input: { method: "standard-payment", metadata: {} })';
        return {
          value: (await changeOrder(pay)).addPaymentToOrder.totalWithTax / 100,
          payAgain: () => changeOrder(pay, "NoActiveOrderError"),
        };
      },
    }),
} satisfies App;
