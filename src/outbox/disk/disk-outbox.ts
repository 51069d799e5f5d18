import { join, resolve } from "node:path";
import { z } from "zod";
import type { OutboxEvent } from "../../events.js";
import { type Clock, systemClock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { peerPlaces } from "../../shared/peer.js";
import { readOptions, type SchemaOf } from "../../shared/read-options.js";
import { createShelter } from "../fallback.js";
import { noTransaction, type Outbox, type OutboxObserver } from "../outbox.js";
import { createRelay } from "../relay.js";
import { deadLettersThrough } from "./asked-dead-letters.js";
import { openLink } from "./link.js";
import type { DiskClaim, Done } from "./protocol.js";
import { findEngine } from "./sqlite.js";
import { isHeld } from "./upkeep.js";

const DAY_MS = 24 * 60 * 60 * 1_000;
const MIB = 1024 * 1024;
const CLAIMED_AT_ONCE = 256;

/** What `diskOutbox()` takes. */
export interface DiskOutboxOptions {
  /** Where its file is kept; made if it is missing. On a local disk, not on a network's. */
  readonly directory: string;
  /** How large the file grows at most, in bytes. Default 1 GiB. */
  readonly maxBytes?: number | undefined;
  /** How many dead letters are kept; the oldest goes first. Default 10,000. */
  readonly maxDeadLetters?: number | undefined;
  /** For how long what was delivered is known, and a duplicate, in milliseconds. Default 30 days. */
  readonly rememberMs?: number | undefined;
  /** After how long without a sign of life a process is taken for dead, and its events over, in milliseconds. Default 20,000. */
  readonly leaseMs?: number | undefined;
  /** How much may wait in memory while the disk is in trouble, in bytes by a rough count. Default 64 MiB. */
  readonly maxMemoryBytes?: number | undefined;
}

const positive = { error: "must be a positive integer" };
const aDirectory = { error: "must be a directory's path" };
const aSize = { error: "must be a number of bytes, at least 1 MiB" };
const aLease = { error: "must be a number of milliseconds, at least 1,000" };
const count = z.int(positive).min(1, positive);

const schema = z.strictObject({
  directory: z.string(aDirectory).min(1, aDirectory),
  maxBytes: z
    .int(aSize)
    .min(MIB, aSize)
    .default(1024 * MIB),
  maxDeadLetters: count.default(10_000),
  rememberMs: count.default(30 * DAY_MS),
  leaseMs: z.int(aLease).min(1_000, aLease).default(20_000),
  maxMemoryBytes: count.default(64 * MIB),
} satisfies SchemaOf<DiskOutboxOptions>);

/**
 * Keeps events on this machine's disk, in one file for all its processes: they survive `kill -9`, a restart, a deploy.
 * What is `queued` has been written through to the disk. The main thread never waits for it, but for some tens of
 * milliseconds here, so that what is wrong at the start is said at the start.
 *
 * Needs Node 22.13, or the package `@photostructure/sqlite`.
 *
 * @throws OptionsError
 * @throws OutboxError whose `code` says what is wrong with the directory, the file, or SQLite.
 */
export function diskOutbox(options: DiskOutboxOptions, clock: Clock = systemClock): Outbox {
  const { directory, maxMemoryBytes, ...limits } = readOptions("diskOutbox", schema, options);
  const path = join(resolve(directory), "outbox.db");
  const engine = findEngine(peerPlaces(import.meta.url));
  const notices: ((to: OutboxObserver) => void)[] = [];
  let observer: OutboxObserver | undefined;
  let cancelWake = () => {};
  let closing: Promise<void> | undefined;

  const link = openLink({ path, engine, ...limits }, hear);
  let standing = link.first.standing;

  const shelter = createShelter<DiskClaim>(
    {
      append: store,
      async claim({ limit, lanes }) {
        const capacity = { limit: Math.min(limit, CLAIMED_AT_ONCE), lanes };
        const claims = await link.ask({ do: "claim", capacity });
        return claims.map((claim) => ({
          ...claim,
          isHeld: () => isHeld(claim.life, standing.life, limits.leaseMs),
        }));
      },
      settle: ({ event: { id }, seq, owner }, verdict) =>
        link.ask({ do: "settle", claimed: { seq, id, owner }, verdict }),
    },
    {
      maxBytes: maxMemoryBytes,
      clock,
      observer: {
        dropped: (event, reason) => tell((to) => to.dropped(event, reason)),
        troubled: (error) => tell((to) => to.troubled(error)),
        recovered() {
          tell((to) => to.recovered());
          relay.wake();
        },
      },
    },
  );
  const relay = createRelay(shelter, (error) => tell((to) => to.troubled(error as Error)));

  hear(link.first);

  async function store(event: OutboxEvent): Promise<"queued" | "duplicate" | "full"> {
    const outcome = await link.ask({ do: "append", event });
    relay.wake();
    return outcome;
  }

  function hear(reply: Done): void {
    standing = reply.standing;
    // What other processes have stored or left behind is found when the thread looks after its file.
    if (!reply.results) relay.wake();
    for (const { event, reason } of reply.dropped) tell((to) => to.dropped(event, reason));
    const { setAside } = reply;
    if (setAside !== undefined) {
      tell((to) => to.troubled(damage(path, setAside)));
      tell((to) => to.recovered());
    }
    wakeInTime();
  }

  /** What happens before anybody listens is told once somebody does. */
  function tell(notice: (to: OutboxObserver) => void): void {
    if (observer) notice(observer);
    else notices.push(notice);
  }

  function wakeInTime(): void {
    cancelWake();
    const { nextReadyAt } = standing;
    if (nextReadyAt === null || closing) return;
    const inMs = nextReadyAt - clock.now();
    if (inMs <= 0) relay.wake();
    else cancelWake = clock.after(inMs, () => relay.wake());
  }

  return {
    name: "disk",
    get durable() {
      return shelter.length === 0;
    },
    // Not async: every event passes here, and that would put two more promises around the one there is.
    add(event, { transaction } = {}) {
      if (transaction !== undefined) return Promise.reject(noTransaction("diskOutbox"));
      if (closing) return Promise.reject(closed());
      return shelter.add(event);
    },
    start(deliver, tellTo) {
      observer = tellTo;
      for (const notice of notices.splice(0)) notice(tellTo);
      relay.start(deliver);
    },
    wake: relay.wake,
    get idle() {
      return relay.idle && shelter.length === 0;
    },
    counts: () => ({
      queued: standing.queued + shelter.length,
      dead: standing.dead,
      oldest: standing.oldest ?? shelter.oldest,
      ...(shelter.trouble && { trouble: shelter.trouble.message }),
    }),
    deadLetters: deadLettersThrough(link.ask, relay.wake),
    close() {
      closing ??= (async () => {
        await relay.stop();
        cancelWake();
        await shelter.close();
        await link.close();
      })();
      return closing;
    },
  };
}

function closed(): OutboxError {
  return new OutboxError("ERR_AFFILIATE_OUTBOX_CLOSED", "diskOutbox: it is closed");
}

function damage(path: string, setAside: string): OutboxError {
  return new OutboxError(
    "ERR_AFFILIATE_DISK_DAMAGED",
    `diskOutbox: ${path} was damaged; it is now ${setAside}, and a new one was begun: what waited in it is not sent`,
  );
}
