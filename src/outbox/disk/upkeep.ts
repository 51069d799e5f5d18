import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  beat: "update events set pulse = ?2 where claimed_by = ?1",
  claimers: `
    select claimed_by as owner, max(pulse) as pulse from events
    where claimed_by is not null group by claimed_by`,
  takeOver: `
    update events set claimed_by = null, pulse = null, interrupted = 1, ready_at = ?2 where claimed_by = ?1`,
  clock: "select now from clock",
  setClock: "update clock set now = ?",
  shift: "update events set ready_at = ready_at - ?1 where ready_at > ?2",
} as const;

const TOLERANCE_MS = 1_000;

/** How often a process is looked at, to no avail, before it is taken for dead. */
export const LOOKS = 4;

/** What keeps a file in order while processes and clocks come and go. */
export function createUpkeep(db: Database, { owner }: { owner: string }) {
  const { beat, claimers, takeOver, clock, setClock, shift } = prepareAll(db, STATEMENTS);
  const seen = new Map<string, { pulse: number; looks: number }>();
  let pulse = 1;

  return {
    /** What a claim made now carries. */
    get pulse() {
      return pulse;
    },
    /** Shows that this process lives, on all that it has claimed. */
    beat(): void {
      beat.run(owner, ++pulse);
    },
    /**
     * Takes over what a process has claimed that shows no sign of life from one look to the next, several times over. By
     * no clock: those that tell the time of day may be set, and a machine that stood still would have everybody dead.
     */
    takeOverFromTheDead(now: number): void {
      const others = claimers.all().filter((each) => each.owner !== owner);
      for (const gone of [...seen.keys()].filter((id) => !others.some((other) => other.owner === id)))
        seen.delete(gone);
      for (const { owner: other, pulse: shown } of others) {
        const before = seen.get(other);
        const looks = before && before.pulse === shown ? before.looks + 1 : 0;
        seen.set(other, { pulse: shown, looks });
        if (looks >= LOOKS) takeOver.run(other, now);
      }
    },
    /** A disk that refused this process a write may have refused the others theirs: nobody is dead for that. */
    forgetWhatWasSeen(): void {
      seen.clear();
    },
    /** Where the clock was set back since the last change, moves what waits for a time that is now far off. */
    followClock(now: number): void {
      const { now: last } = clock.get() as { now: number };
      if (now < last - TOLERANCE_MS) shift.run(last - now, now);
    },
    noteTime(now: number): void {
      setClock.run(now);
    },
  };
}
