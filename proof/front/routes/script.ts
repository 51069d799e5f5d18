import { Dice } from "../../simulate/random.js";

/** How long something takes: nothing, a turn of the event loop, or milliseconds. */
export type Pause = "none" | "turn" | number;

/** What one visitor meets: what the app does, and when the visitor hangs up. */
export interface Script {
  readonly express: "Express 4" | "Express 5";
  readonly wrapped: "return" | "pick";
  /** Of a middleware above: the visitor may be gone when the handler begins. */
  readonly before: Pause;
  /** What the handler awaits before it answers or returns. */
  readonly waits: readonly Pause[];
  readonly answers: "before it returns" | "in a callback";
  /** Until the callback comes. */
  readonly callback: Exclude<Pause, "none">;
  readonly way: (typeof WAYS)[number];
  readonly status: number;
  /** How long the next handler or the error handler takes. */
  readonly after: Pause;
  readonly result: "payment" | "nothing" | "response" | "throws" | "rejects with nothing";
  /** Milliseconds after the request; or when the first byte comes. */
  readonly hangsUp: number | "at the first byte" | undefined;
}

const WAYS = [
  ...(["end", "json", "json", "writes", "stream", "twice"] as const),
  ...(["writeHead", "next", "next(error)", "never"] as const),
];
const pauses: readonly Pause[] = ["none", "turn", 1, 4];

/** An honest handler: it returns what happened, and answers early, late, twice or never. */
export function scriptOf(seed: string): Script {
  const dice = new Dice(seed);
  const way = dice.one(WAYS);
  const hangsUp = dice.happens(0.4) ? dice.one(["at the first byte", 0, 1, 2, 3, 5, 8] as const) : undefined;
  return {
    express: dice.one(["Express 4", "Express 5"]),
    wrapped: dice.happens(0.2) ? "pick" : "return",
    before: dice.happens(0.3) ? dice.one(pauses) : "none",
    waits: Array.from({ length: dice.whole(0, 2) }, () => dice.one(pauses)),
    answers: dice.happens(0.5) ? "before it returns" : "in a callback",
    callback: dice.one(["turn", 1, 4]),
    way,
    status: dice.one([200, 200, 201, 204, 302, 400, 402, 409, 503]),
    after: dice.one(pauses),
    result: dice.happens(0.7)
      ? "payment"
      : dice.one(["nothing", "response", "throws", "rejects with nothing"]),
    // Nobody waits for ever.
    hangsUp: way === "never" && typeof hangsUp !== "number" ? 10 : hangsUp,
  };
}

/** What was seen of a visit, by the host's own listeners. */
export interface Seen {
  /** Whether the handler began. */
  begun: boolean;
  /** The status of the head when the response closed; `undefined` if there was none. */
  head: number | undefined;
  closed: boolean;
  /** Whether `next(error)` was called before the response closed. */
  failedInTime: boolean;
}

/** How often a payment is to be reported: once, if the answer was below 400 or would have been. */
export function expectedOf(script: Script, seen: Seen): 0 | 1 {
  const { wrapped, result, answers, way, status, after } = script;
  if (!seen.begun || result !== "payment") return 0;
  if (seen.head !== undefined) return seen.head < 400 ? 1 : 0;
  if (wrapped === "pick") return 0;
  // The visitor hung up before any head: what the handler had said until it returned decides.
  if (answers === "in a callback") return seen.failedInTime ? 0 : 1;
  if (way === "next(error)") return 0;
  if (way === "never" || (way === "next" && after !== "none")) return 1;
  return status < 400 ? 1 : 0;
}
