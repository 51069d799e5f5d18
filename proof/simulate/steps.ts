import type { Step } from "./schedule.js";
import type { Seat, World } from "./world.js";

/** Does what a step says. */
export function perform(world: World, step: Step): void {
  const { ledger, service, clock } = world;
  const { at: _, do: name, ...rest } = step;
  ledger.write(`step: ${name} ${JSON.stringify(rest)}`);
  const seat = world.seats["process" in step ? step.process : 0] as Seat;
  switch (step.do) {
    case "report":
      world.report(seat, step.what);
      return;
    case "flood":
      for (let nth = 0; nth < step.clicks; nth++) {
        const number = step.from + nth;
        const clickId = `click-${1_000 + number}-${number}`;
        world.report(seat, { number, kind: "click", visitor: 1_000 + number, clickId });
      }
      return;
    case "fail":
      service.faults.set(step.name, step.fault);
      return;
    case "heal":
      service.faults.delete(step.name);
      world.wellSince = clock.monotonic();
      return;
    case "crash":
      world.end(seat);
      return;
    case "start":
      world.start(seat);
      return;
    case "stall":
      world.stall(seat, step.ms);
      return;
    case "lose thread":
      seat.host.faultsSeen++;
      world.as(seat, ({ host }) => {
        for (const end of [...host.threads]) end(new Error("the thread was ended"));
      });
      return;
    case "close":
      world.as(seat, (process) => {
        void process.shutdown.close({ timeoutMs: step.ms }).then(({ left, durable }) => {
          ledger.write(`${process.owner.name} is closed: ${left} left, ${durable ? "durable" : "in memory"}`);
          if (seat.process === process) world.end(seat);
        });
      });
      return;
    case "flush":
      world.as(seat, ({ shutdown, owner }) => {
        void shutdown
          .flush({ timeoutMs: step.ms })
          .then(({ left, settled }) => ledger.write(`${owner.name} is flushed: ${left} left, ${settled}`));
      });
      return;
    case "disk":
      seat.host.diskFault = step.fault;
      if (step.fault) seat.host.faultsSeen++;
      return;
    case "set clock":
      clock.wallAheadMs += step.ms;
      return;
    default:
      byHand(world, seat, step);
  }
}

type ByHand = Extract<Step, { do: "retry" | "discard" | "retry all" }>;

/** What an operator does with dead letters. These reject where the storage fails. */
function byHand(world: World, seat: Seat, step: ByHand): void {
  const { ledger } = world;
  world.as(seat, ({ outbox: { deadLetters }, owner, program }) => {
    const operate = async () => {
      const letters = await deadLetters.list({ limit: 1_000 });
      const tales = letters.map(({ id }) => ledger.find(program, id)).filter((tale) => tale !== undefined);
      if (step.do === "retry all") {
        const unconfirmed = letters.filter(({ reason }) => reason === "unconfirmed").map(({ id }) => id);
        // In the order in which they happened.
        const createdAt = new Map(letters.map((letter) => [letter.id, letter.createdAt]));
        tales.sort((one, other) => (createdAt.get(one.id) ?? 0) - (createdAt.get(other.id) ?? 0));
        const undo = tales.map((tale) => ledger.retried(tale));
        const retried = await deadLetters.retryAll(step.unconfirmedToo ? { reason: "unconfirmed" } : {});
        // Those that are dead still were left alone.
        const left = new Set((await deadLetters.list({ limit: 1_000 })).map(({ id }) => id));
        for (const [nth, tale] of tales.entries()) if (left.has(tale.id)) undo[nth]?.();
        ledger.write(
          `${owner.name}: ${retried} of ${letters.length} were retried, ${unconfirmed.length} in doubt`,
        );
        return;
      }
      const tale = tales[step.nth % Math.max(1, tales.length)];
      if (!tale) return;
      // Noted before it happens: it is sent before its caller hears of it.
      const ends = tale.ends;
      const undo = step.do === "retry" ? ledger.retried(tale) : () => {};
      const done = await (step.do === "retry" ? deadLetters.retry(tale.id) : deadLetters.discard(tale.id));
      ledger.write(`${owner.name}: ${step.do} of ${tale.name}: ${done}`);
      if (!done) undo();
      else if (step.do === "discard") {
        ledger.of(owner).discarded++;
        tale.ends = [...ends.slice(0, -1), "discarded"];
      }
    };
    operate().catch((error) => ledger.write(`${owner.name}: ${step.do} failed: ${error}`));
  });
}
