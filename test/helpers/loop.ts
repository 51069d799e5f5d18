import type { OutboxEvent } from "express-affiliate";
import type { Claim, Lane, Verdict } from "../../src/outbox/claim.js";
import { problemOf } from "../../src/outbox/disk/file/sqlite.js";
import type { Store } from "../../src/outbox/disk/queue/store.js";
import { createLoop, type Kept } from "../../src/outbox/disk/thread/loop.js";
import type { Failed } from "../../src/outbox/disk/thread/protocol.js";
import type { Sender } from "../../src/outbox/disk/thread/sending.js";
import type { Endpoint } from "../../src/service/endpoints.js";
import { ENDPOINTS } from "../../src/service/endpoints.js";
import { DESTINATION } from "../contract/samples.js";
import { DELIVERED } from "./disk-store.js";
import { FakeClock } from "./fake-clock.js";

/** An attempt that is under way. */
export interface Attempt {
  readonly claim: Claim;
  end(verdict?: Verdict): void;
  fail(error: Error): void;
}

/**
 * The loop of the outbox's thread over a store, with the slots that a test gives it. A test ends
 * its attempts.
 */
export function startLoop(
  store: Pick<Store, "run">,
  {
    onSend = () => {},
    onDone = () => {},
    onSettled = () => {},
  }: {
    readonly onSend?: (claim: Claim) => void;
    readonly onDone?: (kept: Kept) => void;
    readonly onSettled?: (event: OutboxEvent, verdict: Verdict) => void;
  } = {},
) {
  const clock = new FakeClock();
  const underWay: Attempt[] = [];
  const sent: Claim[] = [];
  const done: Kept[] = [];
  const failed: Failed[] = [];
  const settled: Verdict["type"][] = [];
  const errors: unknown[] = [];
  const news: "news"[] = [];
  const paused = new Set<Endpoint>();
  const loop = createLoop({
    leaseMs: 20_000,
    keeper: {
      attempt(task) {
        try {
          const { unreadable: _, ...outcome } = task(store as Store);
          return { ...outcome, problems: [] };
        } catch (error) {
          throw problemOf(error, "outbox.db");
        }
      },
    },
    clock,
    onDone(kept) {
      done.push(kept);
      onDone(kept);
    },
    onFailed: (each) => void failed.push(each),
    onNews: () => void news.push("news"),
  });
  const slots: { limit: number; lanes: readonly Lane[] } = {
    limit: 8,
    lanes: ENDPOINTS.map((endpoint) => ({ endpoint, limit: 6 })),
  };
  const sender: Sender = {
    capacity() {
      const limit = slots.limit - underWay.length;
      const countOf = (endpoint: Endpoint) =>
        underWay.filter(({ claim }) => claim.lane.endpoint === endpoint).length;
      const lanes = slots.lanes
        .map((lane) => ({ ...lane, limit: lane.limit - countOf(lane.endpoint) }))
        .filter((lane) => lane.limit > 0);
      return { destination: DESTINATION, limit, lanes: limit > 0 ? lanes : [] };
    },
    deliver(claim) {
      onSend(claim);
      sent.push(claim);
      return new Promise((resolve, reject) => {
        const leave = () => underWay.splice(underWay.indexOf(attempt), 1);
        const attempt: Attempt = {
          claim,
          end(verdict = DELIVERED) {
            leave();
            resolve(verdict);
          },
          fail(error) {
            leave();
            reject(error);
          },
        };
        underWay.push(attempt);
      });
    },
    settled(event, _, verdict) {
      settled.push(verdict.type);
      onSettled(event, verdict);
    },
    isPaused: (endpoint) => paused.has(endpoint),
    mayGoTwice: (endpoint) => endpoint !== "lead/payment",
    onError: (error) => void errors.push(error),
  };
  return {
    ...{ loop, clock, sender, slots, underWay, sent, done, failed, settled, errors, news, paused },
    /**
     * Ends the first attempts, of one endpoint or of all. Resolves once the loop has heard of it,
     * before the next pass.
     */
    async end(number = 1, { endpoint, verdict }: { endpoint?: Endpoint; verdict?: Verdict } = {}) {
      const ended = underWay.filter(({ claim }) => !endpoint || claim.lane.endpoint === endpoint);
      for (const attempt of ended.slice(0, number)) attempt.end(verdict);
      for (let nth = 0; nth < 10; nth++) await undefined;
    },
  };
}
