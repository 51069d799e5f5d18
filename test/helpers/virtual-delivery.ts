import type {
  Attribution,
  EventKind,
  MemoryOutboxOptions,
  Notices,
  Outbox,
  OutboxEvent,
} from "express-affiliate";
import { eventFrom } from "../../src/conversion/event-from.js";
import { IF_MAYBE_TAKEN } from "../../src/conversion/kinds.js";
import { createDelivery, type DeliveryOptions } from "../../src/delivery/delivery.js";
import { createJournal } from "../../src/journal/journal.js";
import { memoryOutbox } from "../../src/outbox/memory/memory-outbox.js";
import { type Attempt, HeldBack } from "../../src/service/attempt.js";
import { type Call, callsFor } from "../../src/service/calls.js";
import type { Transport } from "../../src/service/transport.js";
import { DESTINATION } from "../contract/samples.js";
import { FakeClock } from "./fake-clock.js";

/**
 * What the service does with one request. `taken`: it acts on the request, whether or not an answer
 * arrives.
 */
export type Reply = { readonly taken: boolean; readonly afterMs: number } & (
  | { readonly status: number; readonly body?: unknown; readonly retryAfter?: string }
  | { readonly silence: "unsent" | "sent" }
);

export const yes: Reply = { taken: true, afterMs: 20, status: 200, body: { success: true } };
export const refused: Reply = { taken: false, afterMs: 1, silence: "unsent" };
/** The service reads the request and never says a word. */
export const hanging: Reply = { taken: false, afterMs: 10_000, silence: "sent" };
export const says = (status: number, more: { body?: unknown; retryAfter?: string } = {}): Reply => ({
  taken: status < 300,
  afterMs: 5,
  status,
  ...more,
});

export interface Sent {
  readonly at: number;
  readonly call: Call;
  readonly reply: Reply;
}

/** A service in virtual time, and the transport to it. */
export class VirtualService {
  readonly sent: Sent[] = [];
  /** Ids of the events that it took, in the order in which it took them. */
  readonly taken: string[] = [];
  /** When it took each for the first time. */
  readonly takenAt = new Map<string, number>();
  mostAtOnce = 0;
  #atOnce = 0;

  constructor(
    private readonly clock: FakeClock,
    public reply: (call: Call) => Reply = () => yes,
  ) {}

  get posts(): Sent[] {
    return this.sent.filter(({ call }) => call.method === "POST");
  }

  get probes(): Sent[] {
    return this.sent.filter(({ call }) => call.method === "GET");
  }

  readonly transport: Pick<Transport, "send"> = {
    send: (call, { mayLeave } = {}) => {
      if (mayLeave && !mayLeave()) {
        const error = new HeldBack("ERR_CLAIM_LOST", "another process has it");
        return Promise.resolve({ type: "no-answer", requestSent: false, error });
      }
      const reply = this.reply(call);
      this.sent.push({ at: this.clock.now(), call, reply });
      if (reply.taken && call.idempotencyKey) {
        this.taken.push(call.idempotencyKey);
        if (!this.takenAt.has(call.idempotencyKey)) this.takenAt.set(call.idempotencyKey, this.clock.now());
      }
      this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce);
      return new Promise((resolve) =>
        this.clock.after(reply.afterMs, () => {
          this.#atOnce--;
          resolve(attemptFrom(reply));
        }),
      );
    },
  };
}

function attemptFrom(reply: Reply): Attempt {
  if ("silence" in reply) {
    const error = Object.assign(new Error("the connection was reset"), { code: "ECONNRESET" });
    return { type: "no-answer", requestSent: reply.silence === "sent", error };
  }
  const { status, body, retryAfter } = reply;
  return { type: "answer", status, body, ...(retryAfter !== undefined && { retryAfter }) };
}

export interface VirtualOptions extends Partial<Omit<DeliveryOptions, "clock">> {
  readonly reply?: (call: Call) => Reply;
  readonly outbox?: MemoryOutboxOptions;
  /** Default: a memory outbox with the bounds above. */
  readonly createOutbox?: (clock: FakeClock) => Outbox;
  /** Those of another process on the same storage. */
  readonly clock?: FakeClock;
  readonly service?: VirtualService;
}

/** Outbox, delivery and service as they are, and time as the test wants it. */
export function startDelivery({
  reply,
  outbox: bounds = {},
  createOutbox = (clock) => memoryOutbox(bounds, clock),
  clock = new FakeClock(),
  service = new VirtualService(clock, reply),
  ...options
}: VirtualOptions = {}) {
  const lines: string[] = [];
  const keep = (line: string) => lines.push(line);
  const journal = createJournal({ clock, logger: { info: keep, warn: keep, error: keep } });
  const notices: { name: keyof Notices; notice: Record<string, unknown> }[] = [];
  for (const name of ["delivered", "retry", "dead", "dropped", "paused", "resumed"] as const) {
    journal.emitter.on(name, (notice) => notices.push({ name, notice: notice as Record<string, unknown> }));
  }
  const outbox = createOutbox(clock);
  const delivery = createDelivery({
    transport: service.transport,
    calls: callsFor(1),
    keyOf: ({ id }) => id,
    concurrency: 8,
    maxAgeMs: 72 * 3_600_000,
    ambiguous: IF_MAYBE_TAKEN,
    hide: (text) => text,
    journal,
    onCapacity: () => outbox.wake(),
    clock,
    unanswered: outbox.unanswered,
    random: () => 0.5,
    ...options,
  });
  outbox.bind(DESTINATION);
  outbox.start(delivery, {
    dropped: (event, reason) => journal.dropped(event.kind, reason, { event }),
    degraded: (error) => journal.log("warn", error.message),
    recovered: () => {},
  });

  let number = 0;
  async function add(kind: EventKind, attribution: Attribution): Promise<OutboxEvent> {
    const event = makeEvent(kind, attribution, number++, clock.now());
    await outbox.add(event);
    return event;
  }

  const noticesOf = (name: keyof Notices) =>
    notices.filter((each) => each.name === name).map(({ notice }) => notice);

  return { clock, service, outbox, delivery, journal, notices, lines, add, noticesOf };
}

/** An event that differs from every other by its number. */
export function makeEvent(
  kind: EventKind,
  attribution: Attribution,
  number: number,
  now = Date.now(),
): OutboxEvent {
  const inputs = {
    click: { affiliateReference: "anna", source: String(number) },
    registration: { email: `${number}@shop.example`, customerId: number },
    payment: { paymentId: number, customerEmail: `${number}@shop.example`, leadValue: 1 },
  };
  const event = eventFrom(kind, inputs[kind], attribution, { clientId: DESTINATION, now });
  if ("invalid" in event) throw new Error(event.invalid);
  // Two clicks with one click id are one click; the tests want two.
  return kind === "click" ? { ...event, id: number.toString(16).padStart(16, "0").padEnd(32, "c") } : event;
}
