import type { Attempt } from "../../src/service/attempt.js";
import type { Call } from "../../src/service/calls.js";
import type { Owner, VirtualClock } from "./clock.js";
import { BEHAVIOURS, type Behaviour, type Fault, well } from "./faults.js";
import { chance } from "./random.js";

/** One request, from the moment in which it left its sender. */
export interface Request {
  readonly nth: number;
  readonly sender: Owner;
  readonly program: string;
  readonly call: Call;
  readonly sentAt: number;
  readonly behaviour: Behaviour;
  /** What the sender hears. */
  end: { readonly at: number; readonly attempt: Attempt } | undefined;
}

/** Called for each request, in the order in which things happen. */
export interface Observer {
  sent(request: Request): void;
  taken(request: Request): void;
  ended(request: Request): void;
}

export interface ServiceOptions {
  readonly clock: VirtualClock;
  readonly seed: number;
  /** What it does with an event that it has: answers 409, says yes once more, or takes it again. */
  readonly repeated: "conflict" | "yes" | "again";
  readonly observer: Observer;
}

/** The tracking service in virtual time, for all processes and programs. */
export class Service {
  readonly faults = new Map<string, Fault>();
  readonly observer: Observer;
  readonly #options: ServiceOptions;
  readonly #has = new Set<string>();
  readonly #attempts = new Map<string, number>();
  requests = 0;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.observer = options.observer;
  }

  /** How it deals with a request of this call that is made now. */
  meets(call: Call): Behaviour {
    const key = call.idempotencyKey ?? call.path;
    const nth = (this.#attempts.get(key) ?? 0) + 1;
    this.#attempts.set(key, nth);
    for (const [name, fault] of this.faults) {
      if (!concerns(fault, call)) continue;
      if (fault.share === undefined || chance(this.#options.seed, name, key, nth) < fault.share) {
        return BEHAVIOURS[fault.behaviour] as Behaviour;
      }
    }
    return statusOf(call) ?? well;
  }

  /** Reads a request that was sent, and gives the sender the answer, if there is one. */
  receive(
    from: { sender: Owner; program: string },
    call: Call,
    behaviour: Behaviour,
    answer: (attempt: Attempt) => void,
  ): Request {
    const { clock, seed } = this.#options;
    const request: Request = {
      nth: this.requests++,
      ...from,
      call,
      sentAt: clock.monotonic(),
      behaviour,
      end: undefined,
    };
    this.observer.sent(request);
    const wayMs = 5 * chance(seed, "way", request.nth);
    clock.after(clock.outside, wayMs + (behaviour.takesAfterMs ?? 0), () => {
      const actual = this.#act(request);
      const { afterMs } = actual;
      if (!Number.isFinite(afterMs)) return;
      const jitterMs = afterMs * 0.5 * chance(seed, "answer", request.nth);
      clock.after(request.sender, afterMs + jitterMs, () => answer(attemptFrom(actual, true)));
    });
    return request;
  }

  #act(request: Request): Behaviour {
    const { call, behaviour } = request;
    if (call.idempotencyKey === undefined || !behaviour.takes) return behaviour;
    const key = `${request.program} ${call.idempotencyKey}`;
    const { repeated } = this.#options;
    const has = this.#has.has(key);
    if (has && repeated === "conflict" && behaviour.status === 200) {
      return { meaning: "rejected", takes: false, afterMs: 5, status: 409, body: { success: false } };
    }
    if (has && repeated !== "again") return behaviour;
    this.#has.add(key);
    this.observer.taken(request);
    return behaviour;
  }
}

/** Every third visitor known by a login session was referred. */
function statusOf({ method, path }: Call): Behaviour | undefined {
  if (method !== "GET" || !path.includes("/status/login-")) return undefined;
  const hasAffiliate = Number(path.slice(path.lastIndexOf("-") + 1)) % 3 === 0;
  return { ...well, takes: false, body: { success: true, hasAffiliate } };
}

function concerns({ endpoint, visitors }: Fault, { path, body }: Call): boolean {
  if (endpoint !== undefined && !path.endsWith(`/tracking/${endpoint}`)) return false;
  if (visitors === undefined) return true;
  const { sessionId, clickId } = Object(body) as { sessionId?: string; clickId?: string };
  return visitorNumber(sessionId ?? clickId ?? "") % 4 === visitors;
}

/** `session-7`, `login-7`, `click-7-2`: all of them visitor 7's. */
export const visitorNumber = (id: string): number => Number(/-(\d+)/.exec(id)?.[1] ?? -1);

export function attemptFrom(behaviour: Behaviour, requestSent: boolean): Attempt {
  const { status, code = "", body, retryAfter } = behaviour;
  if (status !== undefined) {
    return { type: "answer", status, body, ...(retryAfter !== undefined && { retryAfter }) };
  }
  return { type: "no-answer", requestSent, error: Object.assign(new Error(`simulated ${code}`), { code }) };
}
