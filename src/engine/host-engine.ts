import type { DeliveryOptions } from "../delivery/delivery.js";
import type { EndpointState } from "../journal/notices.js";
import type { Deliver } from "../outbox/outbox.js";
import type { Endpoint } from "../service/endpoints.js";
import type { Transport } from "../service/transport.js";
import { detached } from "../shared/own-context.js";
import { createEngine } from "./engine.js";
import type { DeliveryPlan } from "./plan.js";
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
  const { delivery, transport } = createEngine(plan(), parts);
  const remote = createRemoteEngine({ plan, journal: parts.journal });
  if (!parts.delivers) delivery.stop();
  const { destination, capacity, deliver, settled } = delivery;
  const running = () => (remote.hasStarted ? remote : delivery);

  return {
    deliver: {
      destination,
      capacity,
      // An outbox may call them in some visitor's async context.
      deliver: detached(deliver),
      settled: detached(settled),
      remote: parts.delivers ? remote.delivery : undefined,
    },
    transport,
    get inFlight() {
      return running().inFlight;
    },
    get endpoints() {
      return running().endpoints;
    },
    tellAttempts: remote.tellAttempts,
    stop() {
      delivery.stop();
      remote.stop();
    },
    abort() {
      transport.abort();
      remote.abort();
    },
    close: () => transport.close(),
  };
}
