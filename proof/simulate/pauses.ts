import { hasStoodStillSince } from "./checks.js";
import type { Owner } from "./clock.js";
import { type EventRecord, meaningOf } from "./event-record.js";
import type { Ledger } from "./ledger.js";
import type { Request } from "./service.js";

/** What an attempt needs to leave that had begun when the service asked for a pause. */
const CONNECTING_MS = 10;
const SHORTEST_MS = 1_000;

/** When services asked processes for a pause at an endpoint, and until when (docs/delivery.md). */
export class Pauses {
  readonly #ledger: Ledger;
  readonly #pauses = new Map<string, { readonly since: number; readonly until: number }>();
  readonly #asked = new Set<EventRecord>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  sent({ sender, call, sentAt }: Request, { name, isAsked }: EventRecord): void {
    const pause = this.#pauses.get(keyOf(sender, call.path));
    // One for which the status endpoint is asked first may have begun long before.
    if (!pause || isAsked || sentAt < pause.since + CONNECTING_MS || sentAt >= pause.until - 1) return;
    if (hasStoodStillSince(sender, pause.since)) return;
    this.#ledger.breaks("a pause is kept", `${name} is sent ${Math.round(pause.until - sentAt)} ms too soon`);
  }

  ended(request: Request, record: EventRecord): void {
    if (meaningOf(request) !== "throttled") return;
    // A second time for the same event, it may mean that event alone.
    const isFirst = !this.#asked.has(record);
    this.#asked.add(record);
    if (!isFirst) return;
    const { end, sender, call, behaviour } = request;
    const since = end?.at ?? 0;
    const forMs = Math.max(SHORTEST_MS, Number(behaviour.retryAfter) * 1_000);
    this.#pauses.set(keyOf(sender, call.path), { since, until: since + forMs });
  }
}

function keyOf({ name }: Owner, path: string): string {
  return `${name} ${path}`;
}
