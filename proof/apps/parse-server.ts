import { type App, taken, walkShop } from "./shared/app.js";
import type { Project } from "./shared/project.js";

const ids = { "x-parse-application-id": "shop" };

export default {
  title: "Parse Server by its own command, with Cloud Code, on PostgreSQL",
  needs: "postgres",
  environment: ({ port, databaseUrl }) => ({
    PARSE_SERVER_APPLICATION_ID: "shop",
    PARSE_SERVER_MASTER_KEY: "master",
    PARSE_SERVER_DATABASE_URI: databaseUrl,
    PARSE_SERVER_URL: `http://localhost:${port}/parse`,
    PARSE_SERVER_ALLOW_CLIENT_CLASS_CREATION: "true",
    PARSE_SERVER_CLOUD: "./cloud/main.js",
    PARSE_SERVER_MIDDLEWARE: "./middleware.js",
  }),
  async make({ write, install }: Project) {
    await write("package.json", '{ "private": true }');
    await install({ "parse-server": "8.6.94" });
  },
  patch: [
    { copy: "tracker.cjs", to: "tracker.js" },
    { copy: "parse-server/main.js", to: "cloud/main.js" },
    { copy: "parse-server/middleware.js", to: "middleware.js" },
  ],
  start: ["npx", "parse-server"],
  ready: "/parse/health",
  walk: (walk) =>
    walkShop(walk, {
      landing: "/parse/health",
      signUp: async (visitor, { email, password }) =>
        taken(await visitor.post("/parse/users", { username: email, email, password }, ids)),
      async pay(visitor, { email }) {
        const order = { email, total: 19.9, status: "open" };
        const { body } = taken(await visitor.post("/parse/classes/Order", order, ids));
        const become = async (status: string) =>
          taken(await visitor.send("PUT", `/parse/classes/Order/${body.objectId}`, ids, { status }));
        await become("paid");
        return { value: order.total, payAgain: () => become("paid"), refund: () => become("refunded") };
      },
    }),
} satisfies App;
