import { z } from "zod";
import { endpointNames } from "./endpoints.js";

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
});

/**
 * What `createSandbox` may be told:
 *
 * | option | default | meaning |
 * | --- | --- | --- |
 * | `port` | 0 | the service's port; 0: any free one |
 * | `inspectorPort` | 0 | the inspector's port; 0: any free one |
 * | `host` | `127.0.0.1` | the address to listen on |
 * | `file` | in memory | the SQLite file that keeps the ledger |
 * | `apiKey` | `sandbox-api-key` | the program owner's key (§5) |
 * | `clientId` | 1001 | the program owner (§2.1) |
 * | `requireKeyFor` | `["status"]` | the endpoints that answer 401 without the key |
 */
export type SandboxOptions = z.input<typeof schema>;

/** The options with their defaults. Throws a TypeError that names every option that is wrong. */
export function readOptions(given: SandboxOptions): z.output<typeof schema> {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  throw new TypeError(`createSandbox: ${z.prettifyError(error)}`);
}
