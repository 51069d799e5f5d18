import { setTimeout as sleep } from "node:timers/promises";
import { type Kind, open } from "../outboxes/server.js";
import { trackerOf, trackNth } from "../shared/tracker.js";

export const CONCURRENCY = 32;

export interface WorkerOptions {
  readonly url: string;
  readonly kind: Kind;
  readonly uri: string;
  readonly leaseMs: number;
}

/** What a worker is asked to report: the nth event of a visitor. */
export interface Task {
  readonly visitor: string;
  readonly nth: number;
}

/** A machine of the fleet: reports events on command, says when they are stored, and delivers. */
export async function runWorker({ url, kind, uri, leaseMs }: WorkerOptions): Promise<void> {
  const { outbox, end } = open(kind, uri, { leaseMs });
  const tracker = trackerOf(url, {
    outbox,
    delivery: { concurrency: CONCURRENCY },
    logger: { warn() {}, error: (line) => process.send?.({ error: line }) },
  });

  process.on("message", async (tasks: readonly Task[] | "close") => {
    if (tasks === "close") {
      await tracker.close();
      await end();
      process.disconnect();
      return;
    }
    for (const task of tasks) {
      report(task).then(
        () => process.send?.({ safe: task }),
        (error) => process.send?.({ error: String(error) }),
      );
    }
  });

  async function report({ visitor, nth }: Task): Promise<void> {
    const kind = nth === 1 ? "click" : nth === 2 ? "registration" : "payment";
    const attribution = { clickId: visitor, sessionId: visitor };
    const receipt = await trackNth(tracker, kind, visitor, nth, attribution);
    if (receipt.outcome !== "queued" && receipt.outcome !== "duplicate") {
      throw new Error(`not queued: ${JSON.stringify(receipt)}`);
    }
    // In memory only, for now: nothing to rely on.
    while (!outbox.durable) await sleep(20);
  }
}
