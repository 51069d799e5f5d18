import { isIP } from "node:net";
import * as z from "zod/mini";
import { isHostName } from "./browsers.js";
import { type EndpointName, endpointNames } from "./endpoints.js";

/** What `createSandbox` takes. */
export interface SandboxOptions {
  /** The address to listen on. Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** The service's port; 0: any free one. Default 0. */
  readonly port?: number | undefined;
  /** The inspector's port; 0: any free one. Default 0. */
  readonly inspectorPort?: number | undefined;
  /** The SQLite file that keeps the ledger. Default: in memory. */
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
    z
      .string()
      .check(
        z.refine((host) => isIP(host) !== 0 || isHostName(host), { error: "expected an address or a name" }),
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

/** Fills in defaults. Throws a TypeError that names all wrong options. */
export function readOptions(given: SandboxOptions): z.output<typeof schema> {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  throw new TypeError(`createSandbox: ${z.prettifyError(error)}`);
}
