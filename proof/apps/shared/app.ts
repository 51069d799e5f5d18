import type { Edit } from "./patch.js";
import type { Project } from "./project.js";
import type { Walk } from "./walk.js";

/** A server that an app calls. */
export interface Beside {
  /** By which the app finds it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** An application of other people, and how it is walked: the default of proof/apps/NAME.ts. */
export interface App {
  readonly title: string;
  /** The major of Node that it needs, if it does not run on Node 20. */
  readonly node?: 24;
  /** The server whose database it gets, as `DATABASE_URL`. */
  readonly needs?: "postgres";
  /** Makes it in an empty folder, from packages of exact versions, as its own documentation says. */
  make(project: Project): Promise<void>;
  /** The folder whose package.json gets the package. Default: the project's own. */
  readonly root?: string;
  /** What a user of the package changes: at most 40 lines. */
  readonly patch: readonly Edit[];
  /** Builds it and migrates its database: after the patch, before the start. */
  prepare?(project: Project): Promise<void>;
  /** Starts what it needs beside a database, in this process: another company's server. */
  beside?(): Promise<Beside>;
  /** Its environment, beside `PORT`, `DATABASE_URL`, `OUTBOX_DIRECTORY` and the service. */
  environment?(at: { readonly port: number; readonly databaseUrl: string }): Readonly<Record<string, string>>;
  /** The command that starts it, and the path that answers below 500 when it has started. */
  readonly start: readonly string[];
  readonly ready?: string;
  walk(walk: Walk): Promise<void>;
}

/** The parts of a database's address. Apps have one of two names for the user. */
export function partsOf(databaseUrl: string) {
  const { hostname, port, pathname, username } = new URL(databaseUrl);
  const user = { DB_USER: username, DB_USERNAME: username, DB_PASSWORD: "none" };
  return { DB_HOST: hostname, DB_PORT: port, DB_NAME: pathname.slice(1), ...user };
}
