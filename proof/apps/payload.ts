import { type App, inFile, taken, walkShop } from "./shared/app.js";

/** As Payload's documentation has it: a server of Express, with two collections. */
const SERVER = `const express = require("express");
const payload = require("payload");

const app = express();
app.get("/", (_req, res) => res.send("Welcome"));

payload
  .init({ secret: "a secret", express: app })
  .then(() => app.listen(process.env.PORT));
`;

const CONFIG = `const { buildConfig } = require("payload/config");
const { postgresAdapter } = require("@payloadcms/db-postgres");
const { webpackBundler } = require("@payloadcms/bundler-webpack");
const { slateEditor } = require("@payloadcms/richtext-slate");

const anybody = { create: () => true, read: () => true, update: () => true };

module.exports = buildConfig({
  admin: { disable: true, bundler: webpackBundler() },
  editor: slateEditor({}),
  db: postgresAdapter({ pool: { connectionString: process.env.DATABASE_URL } }),
  telemetry: false,
  collections: [
    {
      slug: "users",
      auth: true,
      access: anybody,
      fields: [],
    },
    {
      slug: "orders",
      access: anybody,
      fields: [
        { name: "email", type: "email" },
        { name: "total", type: "number" },
        { name: "status", type: "text" },
      ],
    },
  ],
});
`;

export default {
  title: "Payload 2, with hooks of its collections, on PostgreSQL",
  needs: "postgres",
  environment: () => ({ PAYLOAD_CONFIG_PATH: "payload.config.js" }),
  async make({ install, write }) {
    // The sharp that it asks for is downloaded from elsewhere.
    await write("package.json", '{ "private": true, "overrides": { "sharp": "0.33.5" } }');
    await install({
      payload: "2.32.3",
      "@payloadcms/db-postgres": "0.8.10",
      "@payloadcms/bundler-webpack": "1.0.9",
      "@payloadcms/richtext-slate": "1.5.2",
      express: "4.21.2",
    });
    await write("server.js", SERVER);
    await write("payload.config.js", CONFIG);
  },
  patch: [
    { copy: "tracker.cjs", to: "tracker.js" },
    { copy: "payload/report.js", to: "report.js" },
    {
      file: "server.js",
      below: "const app = express();",
      add: 'const { tracker } = require("./tracker.js");\napp.use(tracker, tracker.onClick());',
    },
    ...inFile(
      "payload.config.js",
      { above: "module.exports", add: 'const { reportOrder, reportSignUp } = require("./report.js");' },
      { below: "auth: true,", add: "      hooks: { afterChange: [reportSignUp] }," },
      { below: 'slug: "orders",', add: "      hooks: { afterChange: [reportOrder] }," },
    ),
  ],
  start: ["node", "server.js"],
  walk: (walk) =>
    walkShop(walk, {
      signUp: async (visitor, { email, password }) =>
        taken(await visitor.post("/api/users", { email, password })),
      async pay(visitor, { email }) {
        const order = { email, total: 19.9, status: "open" };
        const { body } = taken(await visitor.post("/api/orders", order));
        const become = async (status: string) =>
          taken(await visitor.send("PATCH", `/api/orders/${body.doc.id}`, {}, { status }));
        await become("paid");
        return { value: order.total, payAgain: () => become("paid"), refund: () => become("refunded") };
      },
    }),
} satisfies App;
