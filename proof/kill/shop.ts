import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import type { EventKind } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { type Kind, kindFrom, open, type Server, startServer } from "../outboxes/server.js";
import { serve } from "../shared/serve.js";
import { trackerOf, trackNth } from "../shared/tracker.js";

/** How many attempts a shop makes at once. */
export const CONCURRENCY = 8;
/** Of a visitor's events, the first and each fifth after it is a click. */
const KINDS: readonly EventKind[] = ["payment", "click", "registration", "payment", "payment"];
export const LEASE_MS = 5_000;

/** Where the outbox is that shops share: a directory, or the address of a server. */
export interface Place {
  readonly kind: Kind | "disk";
  readonly at: string;
  /** Of the server's tables. Default: the package's own. */
  readonly name?: string;
}

/**
 * Runs a proof for each outbox of the list. If there is an argument, a proof has started this process
 * from its own file: it takes its part in that instead.
 */
export async function proveEach<Argument>(
  outboxes: string,
  [argument]: readonly string[],
  takePart: (argument: Argument) => Promise<void>,
  prove: (kind: Place["kind"], server: Server | undefined) => Promise<boolean>,
): Promise<void> {
  if (argument) return takePart(JSON.parse(argument));
  for (const word of outboxes.split(",")) {
    const kind = word === "disk" ? word : kindFrom(word);
    const server = kind === "disk" ? undefined : await startServer(kind);
    if (!(await prove(kind, server))) process.exitCode = 1;
    await server?.destroy();
  }
}

/** What a shop says to the process that started it. */
export interface Said {
  readonly port?: number;
  readonly error?: string;
}

/** The nth thing that a visitor did. */
export interface Happened {
  readonly visitor: string;
  readonly nth: number;
}

export function openAt({ kind, at, name }: Place) {
  const leaseMs = LEASE_MS;
  if (kind === "disk") return { outbox: diskOutbox({ directory: at, leaseMs }), end: async () => {} };
  return open(kind, at, { leaseMs, ...(name && { name }) });
}

/** Reports what its visitors say they did, until it is killed or told to close. */
export async function runShop({ url, ...place }: Place & { readonly url: string }): Promise<void> {
  const { outbox, end } = openAt(place);
  const say = (said: Said) => process.send?.(said);
  const tracker = trackerOf(url, {
    outbox,
    delivery: { concurrency: CONCURRENCY },
    logger: { warn() {}, error: (line) => say({ error: String(line) }) },
  });
  const app = express();
  app.use(express.json(), tracker);

  app.post("/awaited", async (req, res) => {
    const { visitor, nth }: Happened = req.body;
    const receipt = await trackNth(tracker, KINDS[nth % KINDS.length] as EventKind, visitor, nth);
    const isInMemory = "reason" in receipt && receipt.reason === "storage-trouble";
    // For now: nothing to rely on, unless a spool file has it too.
    while (isInMemory && !outbox.durable) await sleep(20);
    if (!["queued", "duplicate"].includes(receipt.outcome)) say({ error: JSON.stringify(receipt) });
    res.status(isInMemory && outbox.storesAtOnce ? 202 : 200).end();
  });

  // These two answer before the receipt is there.
  const paymentOf = ({ visitor, nth }: Happened) => ({
    ...{ paymentId: `${visitor} ${nth}`, customerEmail: "ann@shop.example", leadValue: nth },
  });
  app.post(
    "/wrapped",
    tracker.onPayment((req, res) => {
      setImmediate(() => res.end());
      return paymentOf(req.body);
    }),
  );
  app.post("/called", (req, res) => {
    void req.affiliate?.trackPayment(paymentOf(req.body));
    res.end();
  });

  const { port } = await serve(app);
  process.once("message", async () => {
    await tracker.close();
    await end();
    process.exit();
  });
  say({ port });
}
