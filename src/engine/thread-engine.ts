import type { DiskClaim, EngineState, Notice } from "../outbox/disk/protocol.js";
import type { Storage } from "../outbox/fallback.js";
import { createFallback } from "../outbox/fallback.js";
import type { Claim, Verdict } from "../outbox/outbox.js";
import { createRelay } from "../outbox/relay.js";
import { type Endpoint, kindOf } from "../service/endpoints.js";
import type { Clock } from "../shared/clock.js";
import { errorFrom, OutboxError } from "../shared/errors.js";
import { createClaimsAhead } from "./claims-ahead.js";
import { createEngine } from "./engine.js";
import { createGathering } from "./gathering.js";
import { setNetworkDefaults } from "./network-defaults.js";
import type { DeliveryPlan } from "./plan.js";
import { createRecord, type EngineReport } from "./record.js";

const GATHER_MS = 1;
// Where no event waits for the transaction that stores them.
const GATHER_LONGER_MS = 5;

/** An engine beside its store, in an outbox's thread. */
export interface ThreadEngine {
  /** Runs a task at the end of this turn; where attempts are under way, a moment later. */
  soon(task: () => void): void;
  /** Something may be deliverable that was not. */
  wake(): void;
  /** Whether nothing is under way, and nothing of what waits may be handed over now. */
  readonly idle: boolean;
  /** How it stands, and what it has to say since it was last asked. */
  state(): EngineState;
  /** From here on each attempt is told as it begins. */
  tellAttempts(): void;
  /** From here on nothing is begun. */
  stop(): void;
  /** Ends all attempts under way. */
  abort(): void;
  /** Resolves once the last verdict is stored. */
  close(): Promise<void>;
}

/**
 * @param storage where events are claimed and verdicts go. Claims and verdicts that it rejects are tried again, ever later.
 * @param onNews there is something to say: it is in `state()`.
 */
export function createThreadEngine(
  plan: DeliveryPlan,
  {
    outranks,
    ...storage
  }: Pick<Storage<DiskClaim>, "claim" | "settle"> & {
    outranks(endpoint: Endpoint, claim: DiskClaim): boolean;
  },
  { clock, onNews }: { readonly clock: Clock; readonly onNews: () => void },
): ThreadEngine {
  if (plan.network) setNetworkDefaults(plan.network);
  const record = createRecord(onNews);
  if (plan.tellsAttempts) record.tellAttempts();
  const { delivery, transport } = createEngine(plan, {
    journal: record.journal,
    onCapacity: () => relay.wake(),
    clock,
  });
  const fallback = createFallback<DiskClaim>(
    {
      append: () => Promise.reject(new Error("events are appended by the host")),
      ...storage,
    },
    {
      maxBytes: 0,
      clock,
      onStored: () => relay.wake(),
      observer: { dropped() {}, degraded: onNews, recovered: onNews },
    },
  );
  // The answers to what is under way come one by one: what ends within a moment is stored by one fsync.
  const gathering = createGathering({
    isMoreToCome: () => delivery.inFlight > 0,
    forMs: GATHER_MS,
    isPatient: () => ahead.isFlowing,
    longerMs: GATHER_LONGER_MS,
  });
  const mayGoTwice = (endpoint: Endpoint) => plan.ambiguous[kindOf(endpoint)] === "retry";
  const ahead = createClaimsAhead<DiskClaim>(
    { claim: fallback.claim, settle },
    {
      mayGoTwice,
      isPaused: (endpoint) => delivery.endpoints[endpoint].state === "paused",
      outranks,
      isWell: () => fallback.problem === undefined,
    },
  );
  const relay = createRelay(
    ahead,
    (error) => record.journal.log("error", `delivery failed: ${errorFrom(error).message}`),
    { settlesWithClaim: true, soon: gathering.soon },
  );
  const { destination, capacity, settled } = delivery;
  relay.start({ destination, capacity, deliver, settled });

  function settle(claim: DiskClaim, verdict: Verdict): Promise<boolean> {
    // Until it is stored, it is in doubt.
    if (!mayGoTwice(claim.lane.endpoint)) gathering.hurry();
    return fallback.settle(claim, verdict);
  }

  function wake(): void {
    ahead.hold();
    gathering.hurry();
    relay.wake();
  }

  async function deliver(claim: Claim): Promise<Verdict> {
    const verdict = await delivery.deliver(claim);
    if (delivery.inFlight === 0) gathering.complete();
    return verdict;
  }

  function noticeOf(error: Error | undefined): Notice | undefined {
    if (!error) return undefined;
    return {
      code: error instanceof OutboxError ? error.code : "ERR_AFFILIATE_DISK_UNUSABLE",
      message: error.message,
    };
  }

  function stop(): Promise<void> {
    delivery.stop();
    return relay.stop();
  }

  return {
    soon: gathering.soon,
    wake,
    get idle() {
      return relay.idle;
    },
    state() {
      const { inFlight, endpoints } = delivery;
      const report: EngineReport = { entries: record.take(), inFlight, endpoints };
      return { idle: relay.idle, problem: noticeOf(fallback.problem), report };
    },
    tellAttempts: record.tellAttempts,
    stop,
    abort: transport.abort,
    async close() {
      const stopped = stop();
      await relay.heard;
      // Ends the wait of the verdicts that a failing file does not take.
      await fallback.close();
      await stopped;
      await transport.close();
    },
  };
}
