/**
 * For the tests of a host: an outbox that records what would be reported.
 *
 * @module express-affiliate/testing
 */
import { notBeforeOf, type OutboxEvent, shownData } from "../conversion/events.js";
import type { Outbox } from "../outbox/outbox.js";
import { eraseIn, type PersonalStorage, personalDataIn, personalEventOf } from "../outbox/personal-data.js";

/** Records events, and sends nothing. */
export interface RecordingOutbox extends Outbox {
  /** Every stored event, complete, oldest first. Empty it between tests: `events.length = 0`. */
  readonly events: OutboxEvent[];
}

const NOTHING = { queued: 0, dead: { rejected: 0, unconfirmed: 0, expired: 0 }, oldest: null };

/**
 * An outbox for a host's tests, without service or SQLite. An event that is in `events` already is
 * a `duplicate`, as in any other outbox. `cancelPayment` and `erase` remove events, and their ids
 * with them. `flush()` does not wait. A `transaction` counts as committed.
 *
 * @example
 * ```js
 * import { affiliate } from "express-affiliate";
 * import { recordingOutbox } from "express-affiliate/testing";
 *
 * const outbox = recordingOutbox();
 * const tracker = affiliate({ baseUrl: "https://tracking.example", clientId: 42, outbox });
 * const payment = { paymentId: 1, customerEmail: "ada@shop.example", leadValue: 19.9 };
 * await tracker.trackPayment(payment, { sessionId: "s1" });
 * console.log(outbox.events[0].data); // { …, paymentId: "1", leadValue: 19.9, sessionId: "s1" }
 * ```
 */
export function recordingOutbox(): RecordingOutbox {
  const events: OutboxEvent[] = [];
  const personal: PersonalStorage = {
    async *pages() {
      yield events.map((event) => personalEventOf(event, "waiting"));
    },
    async remove(found) {
      const removed = events.filter((event) => found.some(({ id }) => id === event.id));
      for (const event of removed) events.splice(events.indexOf(event), 1);
      return removed.length;
    },
  };

  return {
    name: "recording",
    durable: false,
    events,
    async add(event) {
      if (events.some(({ id }) => id === event.id)) return "duplicate";
      // Random, and so of no use to a test.
      events.push({ ...event, data: shownData(event.data) } as OutboxEvent);
      return "queued";
    },
    bind() {},
    start() {},
    wake() {},
    counts: () => NOTHING,
    look: async () => NOTHING,
    async cancel(id) {
      const event = events.find((known) => known.id === id);
      if (!event) return "unknown";
      if ((notBeforeOf(event) ?? 0) <= Date.now()) return "sent";
      events.splice(events.indexOf(event), 1);
      return "cancelled";
    },
    personalData: (person) => personalDataIn(personal, person),
    erase: (person) => eraseIn(personal, person),
    deadLetters: {
      list: async () => [],
      retry: async () => false,
      retryAll: async () => 0,
      discard: async () => false,
      sums: async () => [],
      ids: async () => [],
    },
    async close() {},
  };
}
