import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { type Clock, systemClock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { peerPlaces } from "../../shared/peer.js";
import { createProcessHooks } from "../../shared/process-hooks.js";
import { readOptions, type SchemaOf } from "../../shared/read-options.js";
import { setImmediate } from "../../shared/real-timers.js";
import { createDurable } from "../durable.js";
import { durableOptions, MIB } from "../option-types.js";
import type { Outbox } from "../outbox.js";
import { countsOf } from "../queue/counts.js";
import { Scope } from "../queue/database.js";
import { isLeasedSince } from "../queue/leases.js";
import type { SqlOutboxOptions } from "../queue/options.js";
import { findEngine, useOneCopy } from "./file/sqlite.js";
import { createSpool } from "./spool/spool.js";
import { callsThrough, type DiskClaim, settledOf, storageOf } from "./store/calls.js";
import { type Link, openLink } from "./thread/link.js";

/** What `diskOutbox()` takes. */
export interface DiskOutboxOptions extends Pick<SqlOutboxOptions, "maxDeadLetters" | "rememberMs"> {
  /** The directory of its file, made if it is missing. It must be on a local disk. */
  readonly directory: string;
  /** How large the file grows, in bytes, roughly. Dead letters take up to a third. Default 1 GiB. */
  readonly maxBytes?: number | undefined;
  /**
   * How long a process may be without a heartbeat before another one takes over its claims, in
   * milliseconds, at most an hour. If a process is known to have ended, its claims are taken over at
   * once. Default 20,000. If processes on one directory have different values, each has its own.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How many bytes of events may wait in memory, roughly, while the disk cannot be used; also the
   * most bytes of the spool file, which has 256 MiB at most. Default 64 MiB.
   */
  readonly maxMemoryBytes?: number | undefined;
}

// The thread looks for what has rested about twice a second.
const LOOKED_EVERY_MS = 1_000;

const atExit = createProcessHooks("exit");

const aDirectory = { error: "must be a directory's path" };
const aSize = { error: "must be a number of bytes, at least 1 MiB" };

const schema = z.strictObject({
  ...durableOptions,
  directory: z.string(aDirectory).check(z.minLength(1, aDirectory)),
  maxBytes: z._default(z.int(aSize).check(z.minimum(MIB, aSize)), 1024 * MIB),
  leaseMs: z._default(durableOptions.leaseMs, 20_000),
} satisfies SchemaOf<DiskOutboxOptions>);

/**
 * Keeps events on this machine's disk, in one file for all its processes. As soon as they are
 * reported, they survive `kill -9`, a restart, a deploy. What is `queued` has been written through
 * to the disk.
 *
 * `affiliate()` opens the file, and nothing opens it if the tracker is not `enabled`. The main
 * thread waits for the disk only there, about 0.2 s, so that a problem shows at the start: an
 * `OutboxError`, whose `code` says what is wrong with the directory, the file, or SQLite.
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
 */
export function diskOutbox(options: DiskOutboxOptions): Outbox;
/** @internal */
export function diskOutbox(options: DiskOutboxOptions, clock?: Clock): Outbox;
export function diskOutbox(options: DiskOutboxOptions, clock: Clock = systemClock): Outbox {
  const settings = readOptions("diskOutbox", schema, options);
  const { directory: _, maxMemoryBytes, ...limits } = settings;
  // Now: the host may change its working directory.
  const directory = resolve(settings.directory);
  const path = join(directory, "outbox.db");
  const owner = randomUUID();
  const scope = new Scope();
  /** What the thread has claimed, by the events' ids, until it has acted on the verdict. */
  const underWay = new Map<string, DiskClaim>();
  /** Of these, those whose requests may have left. */
  const begun = new WeakSet<DiskClaim>();
  let isExiting = false;
  let opened: ReturnType<typeof openNow> | undefined;

  const spool = createSpool(path, {
    ...{ owner, clock, maxBytes: maxMemoryBytes },
    onTrouble: (error) => spoolFails(error),
  });
  const calls = callsThrough((call) => open().ask(call));
  const { outbox, wake, notify, spoolFails } = createDurable<DiskClaim>(
    {
      spool,
      ...storageOf(calls),
      isInOrder: true,
      append: (event) => calls.append(event),
      async claim(capacity) {
        const claims = await calls.claim(capacity);
        return claims.map((claim) => {
          const { id } = claim.event;
          const isLeased = () => {
            // A listener of `exit` may throw, and the host go on: then another process has the event.
            if (isExiting) return false;
            // Delivery calls this just before a request leaves: from here on, it may have.
            begun.add(held);
            const since = open().last.leases.get(id);
            // It may have been lost, and claimed anew.
            return underWay.get(id) === held && since !== undefined && isLeasedSince(since, limits.leaseMs);
          };
          const held = { ...claim, isLeased };
          underWay.set(id, held);
          return held;
        });
      },
      async settle(claim, verdict) {
        const isActedOn = await calls.settle(settledOf(claim), verdict);
        // Unless it was released, and claimed anew.
        if (underWay.get(claim.event.id) === claim) underWay.delete(claim.event.id);
        return isActedOn;
      },
      bind(clientId) {
        scope.clientId = clientId;
        // It may be open: something was asked of it before it was given to a tracker.
        open().bind(clientId);
        const caution =
          `another tracker of this process uses ${directory}, as when a module is loaded again. Each costs memory and a thread: ` +
          "keep the tracker on `globalThis`, or close the one before";
        if (opened?.isShared) notify((to) => to.cautioned?.(caution));
      },
      counts: () => countsOf(open().last.counts, scope),
      close: async () => opened?.close(),
    },
    { name: "disk", maxMemoryBytes, pollMs: LOOKED_EVERY_MS, clock },
  );

  /**
   * Opens the file when a tracker takes the outbox, or at another first call: a build that loads the
   * host's module, with a tracker that is not `enabled`, opens nothing.
   */
  function open(): Link {
    if (!opened) {
      opened = openNow();
      spool.begin();
      receive(opened.link.last);
    }
    return opened.link;
  }

  function openNow() {
    const engine = findEngine(peerPlaces());
    const { isShared, end } = useOneCopy(path, engine, scope.clientId);
    try {
      const link = openLink(
        { ...limits, path, engine, owner },
        { onDone: receive, underWay: () => [...underWay.values()].map(({ isLeased: _, ...claim }) => claim) },
      );
      const endWithProcess = () => {
        isExiting = true;
        link.endWithProcess([...underWay].flatMap(([id, claim]) => (begun.has(claim) ? [id] : [])));
        spool.close();
      };
      const close = async () => {
        await link.close();
        // Not before: the host may exit meanwhile.
        atExit.remove(endWithProcess);
        spool.close();
        end();
      };
      atExit.add(endWithProcess);
      return { link, isShared, close };
    } catch (error) {
      end();
      throw error;
    }
  }

  function receive(reply: Link["last"]): void {
    // The thread may have found what other processes have stored or left behind.
    if (reply.type === "looked") wake();
    for (const { event, reason } of reply.dropped) {
      const tell = () => notify((to) => to.dropped(event, reason));
      // If it died in the same pass, listeners are told of that first.
      if (reason === "dead-letters-full") setImmediate(tell);
      else tell();
    }
    for (const { code, message } of reply.problems) {
      // The directory may be another one than before.
      if (code === "ERR_AFFILIATE_DISK_REPLACED") spool.begin();
      notify((to) => to.degraded(new OutboxError(code, message)));
      notify((to) => to.recovered());
    }
  }

  return outbox;
}
