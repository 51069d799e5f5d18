import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { type Clock, systemClock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { peerPlaces } from "../../shared/peer.js";
import { readOptions, type SchemaOf } from "../../shared/read-options.js";
import { createDurable } from "../durable.js";
import { momentBy } from "../lease.js";
import { durableOptions, MIB } from "../option-types.js";
import type { Outbox } from "../outbox.js";
import type { RemoteDelivery } from "../remote.js";
import { createAlarm } from "./alarm.js";
import { deadLettersThrough } from "./asked-dead-letters.js";
import { countsOf } from "./counts.js";
import { type Link, openLink } from "./link.js";
import { useOneCopy } from "./one-copy.js";
import { personalThrough } from "./personal.js";
import { CLAIMED_AT_ONCE, type DiskClaim, type Done, settling } from "./protocol.js";
import { createSpool } from "./spool.js";
import { findEngine } from "./sqlite.js";
import { findUndici } from "./undici.js";
import { isStillOwned } from "./upkeep.js";

/** What `diskOutbox()` takes. */
export interface DiskOutboxOptions {
  /** Where its file is kept; made if it is missing. On a local disk, not on a network's. */
  readonly directory: string;
  /** How large the file grows at most, in bytes; dead letters take a third of it at most. Default 1 GiB. */
  readonly maxBytes?: number | undefined;
  /** How many dead letters are kept; the oldest click goes first, then registrations, payments last. Default 10,000. */
  readonly maxDeadLetters?: number | undefined;
  /** For how long what was delivered is known, and a duplicate, in milliseconds of use. Default 30 days. A click is for a day at most. */
  readonly rememberMs?: number | undefined;
  /**
   * How long a process may be without a heartbeat until another one takes over what it has claimed, in milliseconds; one that
   * is known to have ended, at once. Default 20,000. Of different values on one directory, the longest counts.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How much may wait in memory while the disk cannot be used, in bytes by a rough count; also how many bytes the spool file has at
   * most. Default 64 MiB.
   */
  readonly maxMemoryBytes?: number | undefined;
}

const aDirectory = { error: "must be a directory's path" };
const aSize = { error: "must be a number of bytes, at least 1 MiB" };

const schema = z.strictObject({
  ...durableOptions,
  directory: z.string(aDirectory).check(z.minLength(1, aDirectory)),
  maxBytes: z._default(z.int(aSize).check(z.minimum(MIB, aSize)), 1024 * MIB),
  leaseMs: z._default(durableOptions.leaseMs, 20_000),
} satisfies SchemaOf<DiskOutboxOptions>);

/** Until the file could be opened. */
const NOTHING_KNOWN: Done = {
  type: "done",
  snapshot: {
    counts: {},
    nextReadyAt: null,
    leaseEpoch: { number: 0, renewedAt: momentBy() },
    hasChanged: false,
  },
  dropped: [],
  problems: [],
};

/**
 * Keeps events on this machine's disk, in one file for all its processes: they survive `kill -9` as soon as they are reported, a
 * restart, a deploy. What is `queued` has been written through to the disk. The main thread waits for the disk only in this call, about
 * 0.2 s, so that a problem shows at the start.
 *
 * Needs Node 22.13, or the package `@photostructure/sqlite`.
 *
 * @example
 * ```js
 * import { diskOutbox } from "express-affiliate/disk";
 *
 * const outbox = diskOutbox({ directory: "/var/lib/shop/affiliate" }); // for `affiliate({ …, outbox })`
 * ```
 * @throws OptionsError
 * @throws OutboxError whose `code` says what is wrong with the directory, the file, or SQLite.
 */
export function diskOutbox(options: DiskOutboxOptions): Outbox;
/** @internal */
export function diskOutbox(options: DiskOutboxOptions, clock?: Clock): Outbox;
export function diskOutbox(options: DiskOutboxOptions, clock: Clock = systemClock): Outbox {
  const { directory, maxMemoryBytes, ...limits } = readOptions("diskOutbox", schema, options);
  const path = join(resolve(directory), "outbox.db");
  const places = peerPlaces(import.meta.url);
  const engine = findEngine(places);
  const undici = findUndici(places);

  const endUse = useOneCopy(path, engine);
  const spool = createSpool(path, {
    maxBytes: maxMemoryBytes,
    clock,
    onTrouble: (error) => report("spool", error),
  });
  const link = opened();
  let last = link.first.type === "done" ? link.first : NOTHING_KNOWN;
  /** Delivery in the thread, once it has begun. */
  let remote: RemoteDelivery | undefined;

  const { outbox, wake, tell, report } = createDurable<DiskClaim>(
    {
      spool,
      append: (event) => link.ask({ type: "append", event }),
      async claim({ destination, limit, lanes }) {
        const capacity = { destination, limit: Math.min(limit, CLAIMED_AT_ONCE), lanes };
        const claims = await link.ask({ type: "claim", capacity });
        const isHeld = ({ leaseEpoch }: DiskClaim) =>
          isStillOwned(leaseEpoch, last.snapshot.leaseEpoch, limits.leaseMs);
        return claims.map((claim) => ({ ...claim, isHeld: () => isHeld(claim) }));
      },
      settle: (claim, verdict) => link.ask(settling(claim, verdict)),
      counts: (destination) => countsOf(last.snapshot, destination),
      deadLetters: deadLettersThrough(link.ask, () => wake()),
      circuits: {
        read: (destination) => link.ask({ type: "circuits", destination }),
        replace: (change) => link.ask({ type: "replace circuit", ...change }),
      },
      async cancel(id, destination) {
        return destination === undefined ? "unknown" : link.ask({ type: "cancel", destination, id });
      },
      personal: personalThrough(link.ask),
      deliver(deliver) {
        // Where the thread finds no undici, the host's thread sends, with the undici in its bundle.
        remote = undici === undefined ? undefined : deliver.remote;
        if (!remote) return false;
        link.deliver(remote);
        remote.started({
          tellAttempts: () => link.tell("tell attempts"),
          stop: () => link.tell("stop"),
          abort: () => link.tell("abort"),
        });
        return true;
      },
      get idle() {
        return last.delivery?.idle ?? remote === undefined;
      },
      stop() {
        alarm.stop();
        link.tell("stop");
      },
      async close() {
        await link.close();
        spool.close();
        endUse();
      },
    },
    { name: "disk", maxMemoryBytes, clock },
  );
  const alarm = createAlarm(clock, wake);

  spool.begin(link.owner);
  if (link.first.type === "done") hear(link.first);
  else report("thread", new OutboxError(link.first.code, link.first.message));

  function opened(): Link {
    try {
      return openLink({ path, engine, undici, ...limits }, { onDone: hear, onStart: spool.begin });
    } catch (error) {
      endUse();
      throw error;
    }
  }

  function hear(reply: Done): void {
    last = reply;
    // What other processes have stored or left behind is found when the thread looks after its file.
    if (!reply.results) wake();
    for (const { event, reason } of reply.dropped) tell((to) => to.dropped(event, reason));
    for (const { code, message } of reply.problems) {
      if (code === "ERR_AFFILIATE_DISK_REPLACED") spool.renew();
      tell((to) => to.degraded(new OutboxError(code, message)));
      tell((to) => to.recovered());
    }
    const { problem, report: news } = reply.delivery ?? {};
    report("thread", problem && new OutboxError(problem.code, problem.message));
    if (news) remote?.hear(news);
    alarm.set(reply.snapshot);
  }

  return outbox;
}
