/** The table of outcomes in docs/delivery.md, read a second time: this shares nothing with src/delivery. */
export type Meaning =
  | "delivered"
  | "rejected"
  | "refused"
  | "throttled"
  | "failed"
  | "unreachable"
  | "ambiguous";

/** One way in which a service answers a request, or does not. */
export interface Behaviour {
  readonly meaning: Meaning;
  /** Whether the service acts on the request, whatever the sender gets as an answer. */
  readonly takes: boolean;
  /** How long it takes; infinite if no answer comes. */
  readonly afterMs: number;
  readonly status?: number;
  readonly retryAfter?: string;
  readonly body?: unknown;
  /** The error's code, if there is no answer. */
  readonly code?: string;
  /** It acts on the request only then, when its sender may have given up. */
  readonly takesAfterMs?: number;
}

const YES = { success: true, hasAffiliate: true };
const body = { success: false, error: "Simulated", message: "as the schedule wants it" };

const says = (meaning: Meaning, status: number, more: Partial<Behaviour> = {}): Behaviour => ({
  meaning,
  takes: false,
  afterMs: 5,
  status,
  body,
  ...more,
});
const answers = (meaning: Meaning, ...statuses: readonly number[]) =>
  Object.fromEntries(statuses.map((status) => [`answers ${status}`, says(meaning, status)]));
const breaks = (meaning: Meaning, code: string, afterMs: number, takes = false): Behaviour => ({
  meaning,
  takes,
  afterMs,
  code,
});

export const well: Behaviour = { meaning: "delivered", takes: true, afterMs: 20, status: 200, body: YES };

/** The name of a service that never answers. */
export const SILENCE = "is silent";

/** Every way of docs/delivery.md. These concern the whole service. */
export const OF_THE_ORIGIN: Readonly<Record<string, Behaviour>> = {
  "refuses connections": breaks("unreachable", "ECONNREFUSED", 1),
  "is unknown to DNS": breaks("unreachable", "ENOTFOUND", 5),
  "cannot be reached": breaks("unreachable", "EHOSTUNREACH", 50),
  "lets connections wait": breaks("unreachable", "UND_ERR_CONNECT_TIMEOUT", 3_000),
  "has an expired certificate": breaks("unreachable", "CERT_HAS_EXPIRED", 30),
};

const refused = answers("refused", 302, 401, 403, 404, 405, 407, 410, 501);
const failed = answers("failed", 408, 425, 429, 500, 503, 521, 523, 525, 526, 530);
const throttled: Record<string, Behaviour> = {
  "answers 429 with Retry-After": says("throttled", 429, { retryAfter: "7" }),
  "answers 503 with Retry-After": says("throttled", 503, { retryAfter: "15" }),
  "answers 429 with a Retry-After of zero": says("throttled", 429, { retryAfter: "0" }),
};
const rejected: Record<string, Behaviour> = {
  ...answers("rejected", 400, 413, 415, 418, 422),
  "answers success: false": says("rejected", 200),
};
const ambiguous: Record<string, Behaviour> = {
  ...answers("ambiguous", 502, 504, 520, 522, 524),
  "answers 502, and has taken it": says("ambiguous", 502, { takes: true }),
  "answers 504, and has taken it": says("ambiguous", 504, { takes: true }),
  resets: breaks("ambiguous", "ECONNRESET", 5),
  "resets, and has taken it": breaks("ambiguous", "UND_ERR_SOCKET", 5, true),
  "answers garbage, and has taken it": breaks("ambiguous", "HPE_INVALID_CONSTANT", 5, true),
  [SILENCE]: breaks("ambiguous", "", Number.POSITIVE_INFINITY),
  "is silent, and has taken it": breaks("ambiguous", "", Number.POSITIVE_INFINITY, true),
  "is silent, and takes it late": {
    ...breaks("ambiguous", "", Number.POSITIVE_INFINITY, true),
    takesAfterMs: 11_000,
  },
};
const slow: Record<string, Behaviour> = {
  "takes 2 s": { ...well, afterMs: 2_000 },
  "takes 9 s": { ...well, afterMs: 9_000 },
  "breaks off within the answer's body": { ...well, body: undefined },
};

export const OF_AN_ENDPOINT: Readonly<Record<string, Behaviour>> = {
  ...refused,
  ...failed,
  ...throttled,
  ...ambiguous,
  ...slow,
};
/** What a service says of a single visitor's events besides. */
export const OF_A_VISITOR: Readonly<Record<string, Behaviour>> = { ...OF_AN_ENDPOINT, ...rejected };

export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = { ...OF_THE_ORIGIN, ...OF_A_VISITOR };

/** A way in which the service fails, for a time. */
export interface Fault {
  readonly behaviour: string;
  /** Which requests it concerns. Default: all. */
  readonly endpoint?: string | undefined;
  /** Visitors whose number leaves this remainder when it is divided by 4. */
  readonly visitors?: number | undefined;
  /** Which share of them, from 0 to 1. Default: all. */
  readonly share?: number | undefined;
}
