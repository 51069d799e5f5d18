/**
 * This package at its defaults: nothing is awaited, and the end is as docs/deployment.md shows it,
 * with `flush` for a memory outbox.
 */
export async function start({ service, dist }, outboxOf, { flushes = false } = {}) {
  const { affiliate } = await import(`${dist}/index.js`);
  const logger = { warn() {}, error() {} };
  const outbox = await outboxOf(dist);
  const tracker = affiliate({ baseUrl: service, clientId: 1, outbox, logger });
  return {
    track({ visitor, paymentId, email, total }) {
      tracker.trackPayment({ paymentId, customerEmail: email, leadValue: total }, { sessionId: visitor });
    },
    async held() {
      const letters = await tracker.deadLetters.list({ limit: 10_000 });
      return letters.map(({ event }) => event.customerEmail);
    },
    async close() {
      if (flushes) await tracker.flush({ timeoutMs: 5_000 });
      await tracker.close({ timeoutMs: 5_000 });
    },
  };
}

export const follows = ["docs/deployment.md#which-shutdown"];
