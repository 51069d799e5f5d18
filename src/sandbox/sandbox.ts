import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import * as z from "zod/mini";
import { createTracking } from "./api.js";
import snippetWithSession from "./browser/snippet.js?raw";
import { type EndpointName, endpointNames, endpoints } from "./endpoints.js";
import { createFaults, type Fault, type FaultMode, type FaultOptions } from "./faults.js";
import { guarded, nameIn, refuseForeignPages, send, sendJson } from "./http.js";
import { createInspector } from "./inspector/inspector.js";
import { openJournal } from "./ledger/journal.js";
import { type Ledger, openLedger } from "./ledger/ledger.js";
import { openApiDocument } from "./openapi.js";
import { type RestartableServer, startServer } from "./server.js";
import { createService } from "./service.js";

/** The whole tracking service on this machine, for development and tests, never production. */
export interface Sandbox {
  /** The service's base address, as `baseUrl` wants it. */
  readonly url: string;
  /** The inspector's address, with a port of its own: the page stays while the service is down. */
  readonly inspectorUrl: string;
  /** The program owner's key, as `apiKey` wants it. */
  readonly apiKey: string;
  /** The program owner, as `clientId` wants it. */
  readonly clientId: number;
  /** What the service has recorded. */
  readonly ledger: Ledger;
  /** The fault in force. */
  readonly fault: Fault;
  /**
   * Makes the tracking endpoints fail in this way from the next request on. `fail("ok")` ends that.
   * Resolves when the fault is active. Does nothing once closed.
   */
  fail(mode: FaultMode, options?: FaultOptions): Promise<void>;
  /** Ends all connections and closes the ledger. Rejects what waits for an entry. */
  close(): Promise<void>;
}

const SNIPPET = "/snippet.js";
const pathOfGet = ({ method, url }: IncomingMessage) => (method === "GET" ? url?.split("?")[0] : undefined);
const withoutSession = snippetWithSession.replace("keepsSession = true", "keepsSession = false");

/**
 * Starts the service. Rejects if an option is wrong, the port is taken, or the file is in use. Each
 * message says what to do.
 *
 * @example
 * ```js
 * import { affiliate } from "express-affiliate";
 * import { createSandbox } from "express-affiliate/sandbox";
 *
 * const sandbox = await createSandbox();
 * const tracker = affiliate({ baseUrl: sandbox.url, clientId: sandbox.clientId, apiKey: sandbox.apiKey });
 * // … the app under test reports a payment of 49.90 …
 * await sandbox.ledger.waitFor({ kind: "payment", leadValue: 49.9 });
 * await sandbox.close();
 * ```
 */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { success, data, error } = schema.safeParse(options);
  if (!success) throw new TypeError(`createSandbox: ${z.prettifyError(error)}`);
  const { host, port, inspectorPort, file, apiKey, clientId, requireKeyFor, snippetSession } = data;
  const snippet = snippetSession ? snippetWithSession : withoutSession;
  const ledger = openLedger(file === undefined ? undefined : await openJournal(file));
  const faults = createFaults(({ mode }) => (mode === "down" ? service.stop() : service.start()));
  const track = createTracking(createService(ledger, clientId), ledger, faults, { apiKey, requireKeyFor });
  const inspect = createInspector(ledger, faults, () => {
    return { url: service.url, clientId, apiKey, file: file ?? null };
  });

  async function handleService(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = pathOfGet(req);
    if (path === "/") return void res.writeHead(302, { location: inspectorFor(req) }).end();
    if (path === SNIPPET) return send(res, 200, "text/javascript; charset=utf-8", snippet);
    await track(req, res);
  }
  /** By the name that the browser used: from elsewhere, 0.0.0.0 leads nowhere. */
  function inspectorFor({ headers }: IncomingMessage): string {
    const name = headers.host && nameIn(headers.host);
    return name ? `http://${name}:${new URL(inspector.url).port}` : inspector.url;
  }

  function open(handle: typeof handleService, port: number): Promise<RestartableServer> {
    const ours: typeof handle = async (req, res) => {
      // The browser snippet posts clicks from the shop's pages.
      const isForPages = req.url === endpoints.click.path || req.url?.split("?")[0] === SNIPPET;
      refuseForeignPages(req, host, handle === handleService && isForPages);
      const path = pathOfGet(req);
      if (path === "/openapi.json")
        return sendJson(res, { status: 200, body: openApiDocument(service.url, requireKeyFor) });
      if (path === "/ledger.json") return inspect.sendLedger(req, res);
      await handle(req, res);
    };
    return startServer(guarded(ours), host, port);
  }
  async function close(): Promise<void> {
    // First: a fault that ends just now would start the server again.
    faults.stop();
    await inspector?.stop();
    await service?.stop();
    ledger.close();
  }

  let service: RestartableServer;
  let inspector: RestartableServer;
  try {
    service = await open(handleService, port);
    inspector = await open(inspect.handle, inspectorPort);
  } catch (error) {
    await close();
    throw error;
  }

  return {
    url: service.url,
    inspectorUrl: inspector.url,
    apiKey,
    clientId,
    ledger,
    get fault() {
      return faults.current();
    },
    fail: faults.set,
    close,
  };
}

/** What `createSandbox` takes. */
export interface SandboxOptions {
  /** The address to listen on. Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** The service's port; 0: any free one. Default 0. */
  readonly port?: number | undefined;
  /** The inspector's port; 0: any free one. Default 0. */
  readonly inspectorPort?: number | undefined;
  /** The file that keeps the ledger. Default: in memory. */
  readonly file?: string | undefined;
  /** The program owner's key (§5). Default `sandbox-api-key`. */
  readonly apiKey?: string | undefined;
  /** The program owner (§2.1). Default 1001. */
  readonly clientId?: number | undefined;
  /** The endpoints that answer 401 without the key. Default `["status"]`. */
  readonly requireKeyFor?: readonly EndpointName[] | undefined;
  /**
   * Whether `/snippet.js` keeps a session id in the cookie `svc_session_id`, and sends it with the
   * click. Of a browser snippet, the specification names `svc_click_id` alone (§2.2). Default
   * `true`.
   */
  readonly snippetSession?: boolean | undefined;
}

const port = z._default(z.int().check(z.minimum(0), z.maximum(65535)), 0);
const schema = z.strictObject({
  host: z._default(
    z.string().check(
      z.refine((host) => isIP(host) !== 0 || nameIn(host) === host.toLowerCase(), {
        error: "expected an address or a name",
      }),
    ),
    "127.0.0.1",
  ),
  port,
  inspectorPort: port,
  file: z.optional(z.string().check(z.minLength(1))),
  apiKey: z._default(
    z.string().check(z.regex(/^[\x21-\x7e]+$/, "expected printable ASCII without spaces")),
    "sandbox-api-key",
  ),
  clientId: z._default(z.int().check(z.positive()), 1001),
  requireKeyFor: z._default(z.readonly(z.array(z.enum(endpointNames))), ["status"]),
  snippetSession: z._default(z.boolean(), true),
} satisfies { [Option in keyof SandboxOptions]-?: z.ZodMiniType<unknown, SandboxOptions[Option]> });
