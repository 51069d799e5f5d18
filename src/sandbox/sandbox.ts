import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { createApi } from "./api.js";
import { openDoor } from "./door.js";
import { endpointNames } from "./endpoints.js";
import { createFaults, type Fault, type FaultMode, type FaultOptions } from "./faults.js";
import { refusal, sendJson } from "./http.js";
import { type Ledger, openLedger } from "./ledger/ledger.js";
import { createService } from "./service.js";
import { createTracking } from "./tracking.js";

const options = z.strictObject({
  host: z.string().min(1).default("127.0.0.1"),
  port: z.int().min(0).max(65535).default(0),
  file: z.string().min(1).optional(),
  apiKey: z
    .string()
    .regex(/^[\x21-\x7e]+$/, "expected printable ASCII without spaces")
    .default("sandbox-api-key"),
  clientId: z.int().positive().default(1001),
  requireKeyFor: z.array(z.enum(endpointNames)).readonly().default(["status"]),
});

/**
 * What `createSandbox` may be told:
 *
 * | option | default | meaning |
 * | --- | --- | --- |
 * | `port` | 0 | the service's port; 0: any free one |
 * | `host` | `127.0.0.1` | the address to listen on |
 * | `file` | in memory | the SQLite file that keeps the ledger |
 * | `apiKey` | `sandbox-api-key` | the program owner's key (§5) |
 * | `clientId` | 1001 | the program owner (§2.1) |
 * | `requireKeyFor` | `["status"]` | the endpoints that answer 401 without the key |
 */
export type SandboxOptions = z.input<typeof options>;

/** The whole tracking service of the specification, on this machine: for development and tests, never production. */
export interface Sandbox {
  /** The service's base address, as `baseUrl` wants it. */
  readonly url: string;
  readonly apiKey: string;
  readonly clientId: number;
  readonly ledger: Ledger;
  /** The fault in force. */
  readonly fault: Fault;
  /** Has the tracking endpoints fail so, from the next request on; `fail("ok")` heals them. Resolves once it is so. */
  fail(mode: FaultMode, options?: FaultOptions): Promise<void>;
  /** Ends all connections and closes the ledger. What waits for an entry is rejected. */
  close(): Promise<void>;
}

/**
 * Starts the service. Rejects where an option is wrong, the port is taken, the file is in use by another sandbox, or
 * there is no SQLite (Node 20 needs `@photostructure/sqlite`), each with a message that says what to do.
 */
export async function createSandbox(given: SandboxOptions = {}): Promise<Sandbox> {
  const { host, port, file, apiKey, clientId, requireKeyFor } = parse(given);
  const ledger = openLedger(file);
  const faults = createFaults((fault) => (fault.mode === "down" ? service.shut() : service.open()));
  const api = createApi(createService(ledger, clientId), ledger, { apiKey, requireKeyFor });
  const handleTracking = createTracking(api, ledger, faults);

  const service = await openDoor(handle, host, port).catch((error) => {
    ledger.close();
    throw error;
  });

  async function handle(req: IncomingMessage, res: ServerResponse) {
    try {
      await handleTracking(req, res);
    } catch (error) {
      if (res.headersSent || res.destroyed) return void res.destroy();
      sendJson(res, refusal(500, error instanceof Error ? error.message : String(error)));
    }
  }

  async function end() {
    faults.stop();
    service.shut();
    ledger.close();
  }
  let closing: Promise<void> | undefined;

  return {
    url: service.url,
    apiKey,
    clientId,
    ledger,
    get fault() {
      return faults.current();
    },
    fail: faults.set,
    close() {
      closing ??= end();
      return closing;
    },
  };
}

function parse(given: SandboxOptions): z.output<typeof options> {
  const { success, data, error } = options.safeParse(given);
  if (success) return data;
  throw new TypeError(`createSandbox: ${z.prettifyError(error)}`);
}
