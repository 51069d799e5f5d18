import { join } from "node:path";
import { freePort } from "../../../test/helpers/cluster.js";
import { npmFlags } from "../../shared/packed.js";
import { type Program, startProgram } from "../../shared/program.js";
import type { Shown } from "../../shared/run-parts.js";
import type { App, Beside } from "./app.js";
import { applyPatch, linesOf, MOST_LINES } from "./patch.js";
import { makeApp, openProject } from "./project.js";
import { ledgerOf, visitorOf } from "./walk.js";

export interface Means {
  /** The packed package. */
  readonly tarball: string;
  /** The folder that is made for the app. The caller removes it. */
  readonly folder: string;
  /** A new database, as its address. */
  database(): Promise<string>;
}

const KEY = "proof-key";
const CLIENT_ID = 1001;
const LOG_LINES = 60;

/** Installs an app and the package, patches it, walks it beside a sandbox, and ends it all. */
export async function proveApp(name: string, app: App, means: Means): Promise<Shown> {
  const { folder } = means;
  const began = performance.now();
  const steps: string[] = [];
  let last = began;
  const step = (what: string) => {
    const now = performance.now();
    steps.push(`${what} ${seconds(now - last)}`);
    last = now;
  };
  let service: Program | undefined;
  let host: Program | undefined;
  let beside: Beside | undefined;
  let serviceUrl = "";
  const logs: string[] = [];
  const lines = linesOf(app.patch);

  try {
    if (lines > MOST_LINES) throw new Error(`the patch has ${lines} lines; ${MOST_LINES} are the most`);
    const { isCached } = await makeApp(name, app, folder);
    step(isCached ? "copied in" : "installed in");
    const stands = last;

    const [port, servicePort, inspectorPort] = [await freePort(), await freePort(), await freePort()];
    const origin = `http://localhost:${port}`;
    serviceUrl = `http://127.0.0.1:${servicePort}`;
    const databaseUrl = app.needs ? await means.database() : "";
    beside = await app.beside?.();
    const project = await openProject(folder, app.node, {
      ...{ PORT: String(port), DATABASE_URL: databaseUrl, ...app.environment?.({ port, databaseUrl }) },
      ...beside?.environment,
      OUTBOX_DIRECTORY: join(folder, "outbox"),
      TRACKING_URL: serviceUrl,
      TRACKING_CLIENT_ID: String(CLIENT_ID),
      TRACKING_API_KEY: KEY,
    });
    await addPackage(project, app, means.tarball);
    step("the package in");
    await applyPatch(app.patch, folder);
    await app.prepare?.(project);
    step("built in");

    const environment = { cwd: folder, env: project.environment };
    const cli = join(folder, app.root ?? "", "node_modules/express-affiliate/dist/cli.js");
    const ports = ["--port", `${servicePort}`, "--inspector-port", `${inspectorPort}`];
    const key = ["--api-key", KEY, "--client-id", `${CLIENT_ID}`];
    const sandbox = ["node", cli, "sandbox", ...ports, ...key];
    const ledger = `${serviceUrl}/ledger.json`;
    service = await startProgram(sandbox, environment, ledger);
    const start = () => startProgram(app.start, environment, `${origin}${app.ready ?? "/"}`);
    host = await start();
    step("started in");

    let linkedAfter = 0;
    await app.walk({
      ...{ origin, project },
      visitor: () => visitorOf(origin),
      async restart(signal) {
        await host?.stop(signal);
        if (host) logs.push(host.log());
        host = await start();
      },
      ledger: () => ledgerOf(serviceUrl),
      firstPaymentIsLinked() {
        linkedAfter = performance.now() - stands;
      },
    });
    step("walked in");
    const took = `${seconds(performance.now() - began)}: ${steps.join(", ")}`;
    return {
      lines: [
        `  ${lines} lines changed; first linked payment ${seconds(linkedAfter)} after the app stood`,
        `  ${took}`,
      ],
      kept: true,
    };
  } catch (error) {
    const had = serviceUrl && service ? JSON.stringify(await ledgerOf(serviceUrl), null, 1) : "not started";
    const log = [...logs, host?.log() ?? ""].join("").split("\n").slice(-LOG_LINES).join("\n");
    const failure = error instanceof Error ? error.stack : error;
    return {
      lines: [`${failure}`, `--- the service has: ${had}`, `--- ${name} has logged:`, log],
      kept: false,
    };
  } finally {
    await host?.stop();
    await service?.stop();
    await beside?.stop();
  }
}

/** As a user installs it: beside what the app has, with the SQLite that Node 20 does not have. */
async function addPackage({ run }: Awaited<ReturnType<typeof openProject>>, app: App, tarball: string) {
  const sqlite = app.node === undefined ? ["@photostructure/sqlite@1.2"] : [];
  await run(["npm", "install", ...npmFlags, tarball, ...sqlite], app.root);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
