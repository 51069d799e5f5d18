import type { EventKind } from "express-affiliate";
import type { Dice } from "./random.js";
import type { Happening, Step } from "./schedule.js";

/** Draws what can happen at a host. */
export class Writer {
  readonly dice: Dice;
  readonly processes: number;
  readonly lengthMs: number;
  readonly visitors: number;
  readonly happened: Happening[] = [];
  readonly #clicks = new Map<number, string>();
  number = 0;

  constructor(dice: Dice, processes: number, lengthMs: number) {
    this.dice = dice;
    this.processes = processes;
    this.lengthMs = lengthMs;
    this.visitors = dice.whole(1, 12);
  }

  at = (): number => this.dice.whole(0, this.lengthMs);
  process = (): number => this.dice.whole(0, this.processes - 1);

  kind = (): EventKind => this.dice.one(["click", "registration", "payment"]);

  reports(count: number): Step[] {
    const times = Array.from({ length: count }, this.at).sort((a, b) => a - b);
    return times.map((at) => ({ at, do: "report", process: this.process(), what: this.happening() }));
  }

  /** The steps of something that happens a few times, or never. */
  some(most: number, write: (nth: number) => Step[]): Step[] {
    const steps: Step[] = [];
    for (let nth = this.dice.whole(0, most); nth > 0; nth--) steps.push(...write(nth));
    return steps;
  }

  happening(kind = this.kind(), visitor = this.dice.whole(0, this.visitors - 1)): Happening {
    const number = this.numbers(1);
    const own = kind === "click" ? `click-${visitor}-${number}` : this.#clicks.get(visitor);
    if (kind === "click") this.#clicks.set(visitor, own as string);
    const known = this.dice.one(["session", "click", "both", "login"] as const);
    const isLogin = known === "login" && kind !== "click";
    const hasClick = kind === "click" || (own !== undefined && (known === "click" || known === "both"));
    const what: Happening = {
      number,
      kind,
      visitor,
      ...(hasClick && { clickId: own }),
      ...((known !== "click" || !hasClick) && {
        sessionId: isLogin ? loginOf(visitor) : `session-${visitor}`,
      }),
    };
    this.happened.push(what);
    return what;
  }

  /** A payment with a `notBefore`. */
  scheduled(): Happening {
    const what = { ...this.happening("payment"), waitsMs: this.dice.span(1_000, 120_000) };
    this.happened[this.happened.length - 1] = what;
    return what;
  }

  /** So many numbers of what happens: the first of them. */
  numbers(count: number): number {
    this.number += count;
    return this.number - count;
  }

  /** Something that begins, and ends before the schedule does or with it. */
  during(shortestMs: number, longestMs: number): [from: number, to: number] {
    const from = this.at();
    return [from, from + this.dice.span(shortestMs, longestMs)];
  }
}

/** As long as the digest of a login session. */
const loginOf = (visitor: number): string => `login-${String(visitor).padStart(64, "0")}`;
