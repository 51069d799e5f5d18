import { join } from "node:path";
import type { Outbox, OutboxCounts } from "../outbox/outbox.js";

/** An outbox that somebody looks into, while others deliver from it or nobody does. */
export interface OpenOutbox extends Pick<Outbox, "name" | "deadLetters" | "close"> {
  look(): Promise<OutboxCounts>;
}

/** Where an optional peer may be installed: beside the package, beside the script that was started, or right here. */
export function peerPlaces(): readonly (string | undefined)[] {
  return [import.meta.url, process.argv[1], join(process.cwd(), "any.js")];
}
