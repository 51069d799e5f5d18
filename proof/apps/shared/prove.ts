import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createSandbox } from "express-affiliate/sandbox";
import { browser } from "../../../test/frameworks/kit/browser.js";
import { freePort } from "../../../test/helpers/own-server.js";
import { npmFlags } from "../../shared/packed.js";
import { answers, type Program, startProgram } from "../../shared/program.js";
import type { Shown } from "../../shared/run-parts.js";
import { type App, applyPatch, type Beside, contentsOf, linesOf, MOST_LINES } from "./app.js";
import { openProject } from "./project.js";

export interface Means {
  /** The packed package. */
  readonly tarball: string;
  /** The folder that is made for the app. The caller removes it. */
  readonly folder: string;
  /** A new database, as its address. */
  database(): Promise<string>;
}

const LOG_LINES = 60;
/** Versions that were published later are not installed, so that a run is as the one before. */
const PUBLISHED_BEFORE = readFileSync(".ci/published-before", "utf8").trim();

/** Installs an app and the package, patches it, walks it beside a sandbox, and ends it all. */
export async function proveApp(name: string, app: App, means: Means): Promise<Shown> {
  const { folder } = means;
  const began = performance.now();
  let host: Program | undefined;
  let beside: Beside | undefined;
  const logs: string[] = [];
  const lines = linesOf(app.patch);
  const sandbox = await createSandbox();

  try {
    if (lines > MOST_LINES) throw new Error(`the patch has ${lines} lines; ${MOST_LINES} are the most`);
    await mkdir(folder, { recursive: true });
    await app.make(await openProject(folder, app.node, { npm_config_before: PUBLISHED_BEFORE }));
    const stands = performance.now();

    const port = await freePort();
    const origin = `http://localhost:${port}`;
    const databaseUrl = app.needs ? await means.database() : "";
    beside = await app.beside?.();
    const project = await openProject(folder, app.node, {
      ...{ PORT: String(port), DATABASE_URL: databaseUrl, ...app.environment?.({ port, databaseUrl }) },
      ...beside?.environment,
      OUTBOX_DIRECTORY: join(folder, "outbox"),
      TRACKING_URL: sandbox.url,
      TRACKING_CLIENT_ID: String(sandbox.clientId),
      TRACKING_API_KEY: sandbox.apiKey,
    });
    // As a user installs it: with the SQLite that Node 20 does not have.
    const sqlite = app.node === undefined ? ["@photostructure/sqlite@1.2"] : [];
    await project.run(["npm", "install", ...npmFlags, means.tarball, ...sqlite], app.root);
    await applyPatch(app.patch, folder);
    await app.prepare?.(project);

    const environment = { cwd: folder, env: project.environment };
    const start = () => startProgram(app.start, environment, () => answers(`${origin}${app.ready ?? "/"}`));
    host = await start();

    let linkedAfter = 0;
    await app.walk({
      ...{ project, ledger: sandbox.ledger },
      visitor: () => browser(origin),
      async restart(signal) {
        await host?.stop(signal);
        if (host) logs.push(host.log());
        host = await start();
      },
      firstPaymentIsLinked() {
        linkedAfter = performance.now() - stands;
      },
    });
    const took = `first linked payment ${seconds(linkedAfter)} after the app stood`;
    return {
      lines: [`  ${lines} lines changed; ${took}; ${seconds(performance.now() - began)} in all`],
      kept: true,
    };
  } catch (error) {
    const had = JSON.stringify(contentsOf(sandbox.ledger), null, 1);
    const log = [...logs, host?.log() ?? ""].join("").split("\n").slice(-LOG_LINES).join("\n");
    const failure = error instanceof Error ? error.stack : error;
    return {
      lines: [`${failure}`, `--- the service has: ${had}`, `--- ${name} has logged:`, log],
      kept: false,
    };
  } finally {
    await host?.stop();
    await beside?.stop();
    await sandbox.close();
  }
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
