import { type App, inFile, taken, type Visitor, walkShop } from "./shared/app.js";
import type { Project } from "./shared/project.js";

/** Answers what `feathers generate` asks. */
const GENERATE = `
import * as generators from "@feathersjs/generators";
import { getContext } from "@featherscloud/pinion";

const generate = (what, answers) => generators[what].generate(getContext({ cwd: "..", _: [], ...answers }));
const files = { type: "knex", schema: "typebox" };
const app = { name: "shop", description: "A shop", language: "js", framework: "express", transports: ["rest"] };
const database = { database: "postgresql", connectionString: "postgres://localhost/shop" };
await generate("app", { ...app, ...database, ...files, packager: "npm", client: false });
await generate("authentication", { ...files, authStrategies: ["local"], service: "user", path: "users" });
await generate("service", { ...files, name: "order", path: "orders", authentication: true });
`;

async function logIn(visitor: Visitor, { email, password }: { email: string; password: string }) {
  const { body } = taken(await visitor.post("/authentication", { strategy: "local", email, password }));
  return { authorization: `Bearer ${body.accessToken}` };
}

export default {
  title: "FeathersJS on Express: the app that its generator makes, with users and orders in PostgreSQL",
  needs: "postgres",
  environment: ({ databaseUrl }) => ({
    NODE_CONFIG: JSON.stringify({ postgresql: { connection: databaseUrl } }),
  }),
  async make({ write, install, run }: Project) {
    await write("generator/package.json", '{ "private": true, "type": "module" }');
    await write("generator/generate.js", GENERATE);
    await install({ "@feathersjs/cli": "5.0.50" }, "generator");
    await run(["node", "generate.js"], "generator");
    await run(["rm", "-r", "generator"]);
  },
  patch: [
    { copy: "tracker.mjs", to: "src/tracker.js" },
    { copy: "feathers/report.js", to: "src/report.js" },
    ...inFile(
      "src/app.js",
      { below: "from './logger.js'", add: "import { tracker } from './tracker.js'" },
      { above: "// Host the public folder", add: "app.use(tracker, tracker.onClick())" },
    ),
    ...inFile(
      "src/services/users/users.js",
      {
        below: "getOptions } from './users.class.js'",
        add: "import { reportSignUp } from '../../report.js'",
      },
      { replace: "after: {\n      all: []", by: "after: {\n      create: [reportSignUp]" },
    ),
    ...inFile(
      "src/services/orders/orders.js",
      {
        below: "getOptions } from './orders.class.js'",
        add: "import { reportOrder } from '../../report.js'",
      },
      { replace: "after: {\n      all: []", by: "after: {\n      patch: [reportOrder]" },
    ),
  ],
  prepare: ({ run }) => run(["npm", "run", "migrate"]).then(() => {}),
  start: ["node", "src"],
  walk: (walk) =>
    walkShop(walk, {
      signUp: async (visitor, { email, password }) =>
        taken(await visitor.post("/users", { email, password })),
      async pay(visitor, person) {
        const headers = await logIn(visitor, person);
        const { body: order } = taken(await visitor.post("/orders", { text: "a book" }, headers));
        const become = async (text: string) =>
          taken(await visitor.send("PATCH", `/orders/${order.id}`, headers, { text }));
        await become("paid");
        return { value: 19.9, payAgain: () => become("paid"), refund: () => become("refunded") };
      },
    }),
} satisfies App;
