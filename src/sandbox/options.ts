import { z } from "zod";
import { type EndpointName, endpointNames } from "./endpoints.js";

/** What `createSandbox` may be told. */
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
}

const port = z.int().min(0).max(65535);
const schema = z.strictObject({
  host: z.string().min(1).default("127.0.0.1"),
  port: port.default(0),
  inspectorPort: port.default(0),
  file: z.string().min(1).optional(),
  apiKey: z
    .string()
    .regex(/^[\x21-\x7e]+$/, "expected printable ASCII without spaces")
    .default("sandbox-api-key"),
  clientId: z.int().positive().default(1001),
  requireKeyFor: z.array(z.enum(endpointNames)).readonly().default(["status"]),
} satisfies { [Option in keyof SandboxOptions]-?: z.ZodType<unknown, SandboxOptions[Option]> });

/** The options with their defaults. Throws a TypeError that names every option that is wrong. */
export function readOptions(given: SandboxOptions): z.output<typeof schema> {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  throw new TypeError(`createSandbox: ${z.prettifyError(error)}`);
}
