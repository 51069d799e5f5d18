import { createDelivery, type Delivery, type DeliveryOptions } from "../delivery/delivery.js";
import type { DeliveryPlan } from "../outbox/remote.js";
import { callsFor } from "../service/calls.js";
import { idempotencyKeys } from "../service/idempotency.js";
import { createTransport, type Transport } from "../service/transport.js";
import { presentable, Secret } from "../shared/secret.js";
import { VERSION } from "../shared/version.js";

/** Delivery, and the transport that it sends by. */
export interface Engine {
  readonly transport: Transport;
  createDelivery(): Delivery;
}

/**
 * Makes a plan's engine, in this thread. A relay, or the disk outbox's loop, gives it events.
 *
 * @throws OptionsError if the environment's proxy has no usable address.
 */
export function createEngine(
  plan: DeliveryPlan,
  parts: Pick<DeliveryOptions, "journal" | "onCapacity" | "clock" | "circuits">,
): Engine {
  const { clientId, apiKey, proxy, concurrency, connectTimeoutMs, timeoutMs } = plan;
  const baseUrl = new URL(plan.baseUrl);
  const secret = apiKey === undefined ? undefined : new Secret(apiKey);
  const transport = createTransport({
    baseUrl,
    connections: concurrency,
    connectTimeoutMs,
    proxy: proxy === undefined || proxy === "environment" ? proxy : new URL(proxy),
    timeoutMs,
    clock: parts.clock,
    headers: {
      accept: "application/json",
      "user-agent": `express-affiliate/${VERSION}`,
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    },
  });
  return {
    transport,
    createDelivery: () =>
      createDelivery({
        ...parts,
        destination: clientId,
        transport,
        calls: callsFor(clientId),
        keyOf: idempotencyKeys(apiKey),
        concurrency,
        maxAgeMs: plan.maxAgeMs,
        ambiguous: plan.ambiguous,
        confirmReferral: plan.confirmReferral,
        hide: (text) => presentable(text, secret),
      }),
  };
}
