import assert from "node:assert/strict";
import { type App, inFile, paid, taken, type Visitor, walkShop } from "./shared/app.js";

const MOUNT = `app.use('/graphql', (req, res, next) => {
  started.then((handle) => handle(req, res, next), next);
});`;

async function execute(visitor: Visitor, query: string): Promise<void> {
  const { body } = taken(await visitor.post("/graphql", { query }));
  assert.equal(body.errors, undefined, JSON.stringify(body.errors));
}

export default {
  title: "Apollo Server on Express 4.16: the app of Express' generator",
  async make({ install, run }) {
    await run(["npx", "--yes", "express-generator@4.16.1", "--no-view", "."]);
    await install();
    await install({ "@apollo/server": "5.5.1", "@as-integrations/express4": "1.1.2", graphql: "16.12.0" });
  },
  patch: [
    { copy: "tracker.cjs", to: "tracker.js" },
    { copy: "apollo/graphql.js", to: "graphql.js" },
    ...inFile(
      "app.js",
      {
        below: "require('morgan');",
        add: "var { tracker } = require('./tracker');\nvar { started } = require('./graphql');",
      },
      { above: "express.static", add: "app.use(tracker, tracker.onClick());" },
      { above: "app.use('/', indexRouter);", add: MOUNT },
    ),
  ],
  start: ["node", "bin/www"],
  walk: (walk) =>
    walkShop(walk, {
      signUp: (visitor, { email }) => execute(visitor, `mutation { signUp(email: "${email}") }`),
      pay: (visitor, { email }, nth) =>
        paid(19.9, () => execute(visitor, `mutation { pay(order: "${nth}", email: "${email}") }`)),
    }),
} satisfies App;
