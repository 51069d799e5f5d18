import type { Delivery, DeliveryOptions } from "../delivery/delivery.js";
import type { Deliver } from "../outbox/outbox.js";
import type { DeliveryPlan } from "../outbox/remote.js";
import type { EndpointState } from "../service/endpoint-state.js";
import type { Endpoint } from "../service/endpoints.js";
import type { Transport } from "../service/transport.js";
import { detached } from "../shared/own-context.js";
import { createEngine } from "./engine.js";
import { createRemoteEngine } from "./remote-engine.js";

/** A tracker's engine, wherever it runs: in the host's thread, or in that of an outbox that takes it there. */
export interface HostEngine {
  /** For the outbox. */
  readonly deliver: Deliver;
  /** In the host's thread: what `tracker.client` sends by. */
  readonly transport: Transport;
  readonly inFlight: number;
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
  /** Makes an engine in another thread report attempts from now on, because somebody listens to them. */
  tellAttempts(): void;
  /** Begins no more attempts. Events that were not sent stay for the next process. */
  stop(): void;
  /** Ends all attempts under way. */
  abort(): void;
  close(): Promise<void>;
}

/**
 * @param parts.delivers whether this process delivers what it reports.
 * @throws OptionsError where the environment's proxy has no usable address.
 */
export function createHostEngine(
  plan: () => DeliveryPlan,
  parts: Pick<DeliveryOptions, "journal" | "onCapacity" | "clock" | "circuits"> & {
    readonly delivers: boolean;
  },
): HostEngine {
  const engine = createEngine(plan(), parts);
  const { transport } = engine;
  const remote = createRemoteEngine({ plan, journal: parts.journal });
  /** Delivery in this thread. Made when an outbox first asks for its capacity: one that delivers in its own thread never does. */
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
    tellAttempts: remote.tellAttempts,
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
