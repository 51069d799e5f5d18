import type { App } from "./app.js";
import type { Project } from "./project.js";

const CREATE = `npx create-better-t-stack create shop --frontend none --backend express --runtime node --api trpc
  --auth better-auth --database postgres --orm drizzle --db-setup none --payments none --addons none --examples todo
  --no-git --no-install --package-manager npm --web-deploy none --server-deploy none --disable-analytics --no-render-title`;

/** Makes the app of create-better-t-stack in `shop`: Express, tRPC, better-auth and Drizzle. */
export async function makeTStack({ write, install, run }: Project): Promise<void> {
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

/** What each such app has. */
export const tStack = {
  node: 24,
  needs: "postgres",
  environment: ({ port }) => ({
    BETTER_AUTH_URL: `http://localhost:${port}`,
    BETTER_AUTH_SECRET: "a-secret-of-thirty-two-characters",
    CORS_ORIGIN: `http://localhost:${port}`,
  }),
  root: "shop",
  /** Creates its tables, and has TypeScript check it, as its own scripts do. */
  async prepare({ run }) {
    await run(["npx", "drizzle-kit", "push", "--force"], "shop/packages/db");
    await run(["npm", "run", "check-types"], "shop/apps/server");
  },
  start: ["sh", "-c", "cd shop/apps/server && exec npx tsx src/index.ts"],
} satisfies Partial<App>;
