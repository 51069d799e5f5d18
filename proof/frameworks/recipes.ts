import type { DatabaseKind } from "./databases.js";

/** What a recipe installs beside the package, by the major of Express that it is tried with. */
interface Recipe {
  readonly express: { readonly 4?: Dependencies; readonly 5?: Dependencies };
  /** The recipes of which it has every file that it does not have itself. */
  readonly basedOn?: string | readonly string[];
  /** The database of its own that it is given. */
  readonly database?: DatabaseKind;
  /** A command that is run once, after the install. */
  readonly prepare?: string;
}

type Dependencies = Readonly<Record<string, string>>;

type More = Omit<Recipe, "express">;

const on5 = (dependencies: Dependencies, more?: More): Recipe => ({ express: { 5: dependencies }, ...more });
/** The same with both majors. */
const onBoth = (dependencies: Dependencies, more?: More): Recipe => ({
  express: { 4: dependencies, 5: dependencies },
  ...more,
});

/** It has the disk outbox, too, which needs SQLite on Node 20. */
const anywhere = (dependencies: Dependencies) => on5({ "@photostructure/sqlite": "~1.2", ...dependencies });

/** Packages of a scope, in one version. */
const scoped = (scope: string, version: string, ...names: readonly string[]): Dependencies =>
  Object.fromEntries(names.map((name) => [`@${scope}/${name}`, version]));

// Nest decides on Express: 10 is on Express 4, 11 is on Express 5.
const nest = (version: string, types: string): Dependencies => ({
  ...scoped("nestjs", version, "common", "core", "platform-express"),
  "reflect-metadata": "^0.2.2",
  rxjs: "^7.8.2",
  typescript: "~5.9.3",
  "@types/express": types,
  "@types/node": "^20.19.43",
});

/** A library for PostgreSQL. It sees nothing of Express. */
const inPostgres = (dependencies: Dependencies, more?: More): Recipe =>
  on5({ pg: "^8.23.1", ...dependencies }, { database: "postgres", ...more });

/** A library for MySQL and MariaDB, whose app may be the one for PostgreSQL. */
const inMysql = (dependencies: Dependencies, twin = "mysql2", more?: More): Recipe =>
  on5({ mysql2: "^3.24.6", ...dependencies }, { database: "mysql", basedOn: ["mysql2", twin], ...more });

const prisma = (adapter: Dependencies): Dependencies => ({
  prisma: "^7.10.1",
  "@prisma/client": "^7.10.0",
  ...adapter,
});
// Neither the generated client nor its adapter needs the engine: `true` spares a download.
const generated: More = { prepare: "env PRISMA_SCHEMA_ENGINE_BINARY=/bin/true npx prisma generate" };

/** The recipes of test/frameworks, by the names of their folders. */
export const recipes: Readonly<Record<string, Recipe>> = {
  nestjs: {
    express: { 4: nest("^10.4.9", "^4.17.25"), 5: nest("^11.2.10", "^5.0.6") },
    // TypeScript that is as the JavaScript of the other recipes.
    prepare: "mv tracker.js tracker.ts && npx tsc",
  },
  passport: onBoth({ "express-session": "^1.19.0", passport: "^0.7.0", "passport-local": "^1.0.0" }),
  "better-auth": onBoth({ "better-auth": "^1.7.25" }),
  "async-local-storage": onBoth({}),
  // What stands between a visitor and the app.
  lambda: onBoth({ "@codegenie/serverless-express": "5.0.0" }),
  "lambda-vendia": onBoth({ "@vendia/serverless-express": "4.12.6" }, { basedOn: "lambda" }),
  "proxied-shop": onBoth({
    ...{ apicache: "1.6.3", "express-http-proxy": "2.1.2", "http-proxy-middleware": "4.2.2" },
  }),
  // Bundlers and runtimes: kit/anywhere.js, without the code of a page.
  esbuild: anywhere({ esbuild: "^0.27.7" }),
  webpack: anywhere({ webpack: "^5.112.2" }),
  rollup: anywhere({
    rollup: "^4.68.8",
    "@rollup/plugin-commonjs": "^29.0.0",
    "@rollup/plugin-json": "^6.1.0",
    "@rollup/plugin-node-resolve": "^16.0.3",
  }),
  vite: anywhere({ vite: "^8.3.8" }),
  mocks: on5({ nock: "^15.0.6", msw: "^3.0.5", undici: "^7.30.2" }),
  deno: anywhere({ deno: "^2.9.6" }),
  bun: anywhere({ bun: "^1.4.5" }),
  gateways: onBoth({
    "@adyen/api-library": "^32.1.0",
    "@mollie/api-client": "^4.6.0",
    "@paddle/paddle-node-sdk": "^3.10.0",
    braintree: "^3.40.0",
    razorpay: "^2.9.8",
    square: "^46.0.0",
    stripe: "^23.1.0",
  }),
  pg: inPostgres({}),
  "postgres-js": inPostgres({ postgres: "^3.4.9" }),
  prisma: inPostgres(prisma({ "@prisma/adapter-pg": "^7.10.1" }), generated),
  typeorm: inPostgres({ typeorm: "^1.1.1" }),
  sequelize: inPostgres({ sequelize: "^6.37.8" }),
  drizzle: inPostgres({ "drizzle-orm": "^0.45.4" }),
  knex: inPostgres({ knex: "^3.3.0" }),
  kysely: inPostgres({ kysely: "^0.28.18" }),
  // 7 needs Node 22. The two must be of one version.
  "mikro-orm": inPostgres(scoped("mikro-orm", "6.6.7", "core", "postgresql")),
  pgbouncer: inPostgres({}, { basedOn: "pg", database: "pgbouncer" }),
  mysql2: inMysql({}),
  "mysql-prisma": inMysql(prisma({ "@prisma/adapter-mariadb": "^7.10.0" }), "prisma", generated),
  "mysql-typeorm": inMysql({ typeorm: "^1.1.1" }, "typeorm"),
  "mysql-sequelize": inMysql({ sequelize: "^6.37.8" }, "sequelize"),
  "mysql-drizzle": inMysql({ "drizzle-orm": "^0.45.4" }, "drizzle"),
  "mysql-knex": inMysql({ knex: "^3.3.0" }, "knex"),
  "mysql-kysely": inMysql({ kysely: "^0.28.18" }, "kysely"),
};

export const expressRanges = { 4: "^4.22.3", 5: "^5.3.0" } as const;
