/** This package at its defaults: nothing is awaited, and the end is `flush` and `close`, as README.md shows them. */
export async function start({ service, dist }, outboxOf) {
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
      await tracker.flush({ timeoutMs: 5_000 });
      await tracker.close({ timeoutMs: 5_000 });
    },
  };
}

export const follows = ["README.md#shutting-down", "docs/outboxes.md"];
