import type { Circuits } from "../outbox/circuits.js";
import type { Storage } from "../outbox/fallback.js";
import { createFallback } from "../outbox/fallback.js";
import type { Claim, Verdict } from "../outbox/outbox.js";
import { createRelay } from "../outbox/relay.js";
import type { DeliveryPlan, DeliveryReport } from "../outbox/remote.js";
import { type Endpoint, kindOf } from "../service/endpoints.js";
import type { Clock } from "../shared/clock.js";
import { errorFrom, OutboxError } from "../shared/errors.js";
import { createBatchWindow } from "./batch-window.js";
import { createEngine } from "./engine.js";
import { setNetworkDefaults } from "./network-defaults.js";
import { createPrefetch } from "./prefetch.js";
import { createRecord } from "./record.js";

const GATHER_MS = 1;
// If the next events are prefetched, none waits for the transaction.
const GATHER_LONGER_MS = 5;

/** The state of delivery in an outbox's thread. */
export interface EngineState {
  /** Whether nothing is under way, and nothing of what waits may be handed over now. */
  readonly idle: boolean;
  /** The problem with the store that claims and verdicts have met. */
  readonly problem?: { readonly code: string; readonly message: string } | undefined;
  /** For `RemoteDelivery`. */
  readonly report: DeliveryReport;
}

/** An engine beside its store, in an outbox's thread. */
export interface ThreadEngine {
  /** Runs a task at the end of this tick; where attempts are under way, a moment later. */
  soon(task: () => void): void;
  /** Something may be deliverable that was not. */
  wake(): void;
  /** Whether nothing is under way, and nothing of what waits may be handed over now. */
  readonly idle: boolean;
  /** Its state, and the calls of its journal since it was last asked. */
  state(): EngineState;
  /** Reports each attempt as it begins, from now on. */
  tellAttempts(): void;
  /** Begins no more attempts. */
  stop(): void;
  /** Ends all attempts under way. */
  abort(): void;
  /** Resolves once the last verdict is stored. */
  close(): Promise<void>;
}

/**
 * @param storage gives claims and stores verdicts. Where it rejects, the call is repeated after growing pauses.
 * @param onNews called when `state()` has news.
 */
export function createThreadEngine<Claimed extends Claim>(
  plan: DeliveryPlan,
  {
    outranks,
    circuits,
    ...storage
  }: Pick<Storage<Claimed>, "claim" | "settle"> & {
    outranks(endpoint: Endpoint, claim: Claimed): boolean;
    readonly circuits?: Circuits;
  },
  { clock, onNews }: { readonly clock: Clock; readonly onNews: () => void },
): ThreadEngine {
  if (plan.network) setNetworkDefaults(plan.network);
  const record = createRecord(onNews);
  if (plan.tellsAttempts) record.tellAttempts();
  const { transport, createDelivery } = createEngine(plan, {
    journal: record.journal,
    onCapacity: () => relay.wake(),
    clock,
    circuits,
  });
  const delivery = createDelivery();
  const fallback = createFallback<Claimed>(
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
  // Answers arrive one by one: those that arrive within a moment are stored by one fsync.
  const batchWindow = createBatchWindow({
    isMoreToCome: () => delivery.inFlight > 0,
    forMs: GATHER_MS,
    isPatient: () => prefetch.isNextPrefetched,
    longerMs: GATHER_LONGER_MS,
  });
  const mayGoTwice = (endpoint: Endpoint) => plan.ambiguous[kindOf(endpoint)] === "retry";
  const prefetch = createPrefetch<Claimed>(
    { claim: fallback.claim, settle },
    {
      mayGoTwice,
      isPaused: (endpoint) => delivery.endpoints[endpoint].state === "paused",
      outranks,
      isWell: () => fallback.problem === undefined,
    },
  );
  const relay = createRelay(
    prefetch,
    (error) => record.journal.log("error", `delivery failed: ${errorFrom(error).message}`),
    { settlesWithClaim: true, soon: batchWindow.soon },
  );
  const { destination, capacity, settled } = delivery;
  relay.start({ destination, capacity, deliver, settled });

  function settle(claim: Claimed, verdict: Verdict): Promise<boolean> {
    // Until the verdict is stored, the event is in doubt.
    if (!mayGoTwice(claim.lane.endpoint)) batchWindow.shorten();
    return fallback.settle(claim, verdict);
  }

  function wake(): void {
    prefetch.askStoreFirst();
    batchWindow.shorten();
    relay.wake();
  }

  async function deliver(claim: Claim): Promise<Verdict> {
    const verdict = await delivery.deliver(claim);
    if (delivery.inFlight === 0) batchWindow.complete();
    return verdict;
  }

  function problemFrom(error: Error | undefined): EngineState["problem"] {
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
    soon: batchWindow.soon,
    wake,
    get idle() {
      return relay.idle;
    },
    state() {
      const { inFlight, endpoints } = delivery;
      const report: DeliveryReport = { entries: record.take(), inFlight, endpoints };
      return { idle: relay.idle, problem: problemFrom(fallback.problem), report };
    },
    tellAttempts: record.tellAttempts,
    stop,
    abort: transport.abort,
    async close() {
      const stopped = stop();
      await relay.heard;
      // Drops verdicts that a failing file does not take.
      await fallback.close();
      await stopped;
      await transport.close();
    },
  };
}
