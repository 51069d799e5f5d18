import type { Kind } from "../../outboxes/server.js";
import type { Figure } from "../../shared/figures.js";

/** One part of `npm run proof world`: the default export of proof/world/NAME.ts. */
export interface Part {
  /** What it shows, in one line. */
  readonly title: string;
  /**
   * Starts and ends the programs that it needs. `short`: with fewer events and less time, for
   * .ci/run. `outbox`: if the same is shown with each server, on this one alone.
   */
  prove(options: { readonly short: boolean; readonly outbox?: Kind | undefined }): Promise<readonly Figure[]>;
}
