import type { Delivery, DeliveryOptions } from "../delivery/delivery.js";
import type { Deliver } from "../outbox/claim.js";
import type { DeliveryPlan } from "../outbox/remote.js";
import type { EndpointState } from "../service/endpoint-state.js";
import type { Endpoint } from "../service/endpoints.js";
import type { Transport } from "../service/transport.js";
import { detached } from "../shared/own-context.js";
import { createEngine } from "./engine.js";
import { createRemoteEngine } from "./remote-engine.js";

/** A tracker's engine: in the host's thread, or in that of an outbox. */
export interface HostEngine {
  /** For the outbox. */
  readonly deliver: Deliver;
  /** In the host's thread: what `tracker.client` sends by. */
  readonly transport: Transport;
  readonly inFlight: number;
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
  /** A listener wants attempts: an engine in another thread reports them from now on. */
  reportAttempts(): void;
  /** Begins no more attempts. Events that were not sent stay for the next process. */
  stop(): void;
  abort(): void;
  close(): Promise<void>;
}

/** @throws OptionsError if the environment's proxy has no usable address. */
export function createHostEngine(
  plan: () => DeliveryPlan,
  parts: Pick<DeliveryOptions, "journal" | "onCapacity" | "clock" | "circuits"> & {
    readonly delivers: boolean;
  },
): HostEngine {
  const engine = createEngine(plan(), parts);
  const { transport } = engine;
  const remote = createRemoteEngine(plan, parts.journal);
  /** In this thread. Made when an outbox first asks for its capacity, if it ever does. */
  let own: Delivery | undefined;
  let hasStopped = !parts.delivers;

  function delivery(): Delivery {
    if (!own) {
      own = engine.createDelivery();
      if (!hasStopped) transport.prepare();
    }
    if (hasStopped) own.stop();
    return own;
  }

  return {
    deliver: {
      destination: plan().clientId,
      capacity: () => delivery().capacity(),
      // An outbox may call them in some visitor's async context.
      deliver: detached((claim) => delivery().deliver(claim)),
      settled: detached((...args) => delivery().settled(...args)),
      remote: parts.delivers ? remote.delivery : undefined,
    },
    transport,
    get inFlight() {
      return (own ?? remote).inFlight;
    },
    get endpoints() {
      return (own ?? remote).endpoints;
    },
    reportAttempts: remote.reportAttempts,
    stop() {
      hasStopped = true;
      own?.stop();
      remote.stop();
    },
    abort() {
      transport.abort();
      remote.abort();
    },
    close: () => transport.close(),
  };
}
