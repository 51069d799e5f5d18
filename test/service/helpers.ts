import { onTestFinished } from "vitest";
import { createTransport, type Transport, type TransportOptions } from "../../src/service/transport.js";
import { systemClock } from "../../src/shared/clock.js";

export const post = { method: "POST", path: "/api/v1/tracking/click", body: { clientId: 1 } } as const;

/** The way to a service, closed with the test. */
export function transportTo(url: string, options: Partial<TransportOptions> = {}): Transport {
  const transport = createTransport({
    baseUrl: new URL(url),
    connections: 4,
    connectTimeoutMs: 1_000,
    timeoutMs: 5_000,
    headers: { authorization: "Bearer secret-key" },
    clock: systemClock,
    ...options,
  });
  onTestFinished(() => transport.close());
  return transport;
}
