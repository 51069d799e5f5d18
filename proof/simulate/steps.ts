import { hasStoodStillSince } from "./checks.js";
import type { Owner } from "./clock.js";
import type { Slot } from "./process.js";
import type { Step } from "./schedule.js";
import type { World } from "./world.js";

const TOLERANCE_MS = 100;

type Doing<Name extends Step["do"]> = (world: World, slot: Slot, step: Step & { readonly do: Name }) => void;

const DOING: { readonly [Name in Step["do"]]: Doing<Name> } = {
  report: (world, slot, { what, isKilled }) => world.report(slot, what, isKilled),
  flood,
  fail: ({ service }, _slot, { name, fault }) => service.faults.set(name, fault),
  heal(world, _slot, { name }) {
    world.service.faults.delete(name);
    world.wellSince = world.clock.monotonic();
  },
  crash: (world, slot) => world.end(slot),
  start: (world, slot) => world.start(slot),
  stall: (world, slot, { ms }) => world.stall(slot, ms),
  "lose thread"(world, slot) {
    slot.host.faultsSeen++;
    world.as(slot, ({ host }) => {
      for (const end of [...host.threads]) end(new Error("the thread was ended"));
    });
  },
  close(world, slot, { ms }) {
    const { clock, ledger } = world;
    world.as(slot, (process) => {
      const began = clock.monotonic();
      void process.shutdown.close({ timeoutMs: ms }).then(({ left, durable }) => {
        checkDeadline(world, process.owner, "close() ends in time", began + ms);
        ledger.write(`${process.owner.name} is closed: ${left} left, ${durable ? "durable" : "in memory"}`);
        if (slot.process === process) world.end(slot);
      });
    });
  },
  flush(world, slot, { ms }) {
    const { clock, ledger } = world;
    world.as(slot, ({ shutdown, owner }) => {
      const began = clock.monotonic();
      void shutdown.flush({ timeoutMs: ms }).then(({ left, settled }) => {
        checkDeadline(world, owner, "flush() ends in time", began + ms);
        ledger.write(`${owner.name} is flushed: ${left} left, ${settled}`);
      });
    });
  },
  disk(_world, { host }, { fault }) {
    host.diskFault = fault;
    if (fault) host.faultsSeen++;
  },
  server(_world, { host }, { fault }) {
    host.serverFault = fault;
    if (fault) host.faultsSeen++;
  },
  transaction: (world, slot, step) => world.transact(slot, step),
  "set clock"({ ledger, clock }, _slot, { ms }) {
    ledger.noteTime();
    clock.wallAheadMs += ms;
  },
  cancel,
  retry: byHand,
  discard: byHand,
  "retry all": byHand,
};

/** Does what a step says. */
export function perform(world: World, step: Step): void {
  const { at: _, do: name, ...rest } = step;
  world.ledger.write(`step: ${name} ${JSON.stringify(rest)}`);
  const slot = world.slots["process" in step ? step.process : 0] as Slot;
  (DOING[name] as Doing<never>)(world, slot, step as never);
}

function flood(world: World, slot: Slot, { from, events, strangers }: Extract<Step, { do: "flood" }>): void {
  const { clock, slots } = world;
  for (let nth = 0; nth < events; nth++) {
    const number = from + nth;
    const visitor = strangers ? 4 * (1_000 + number) + 1 : 1_000 + number;
    const clickId = `click-${visitor}-${number}`;
    if (!strangers) {
      world.report(slot, { number, kind: "click", visitor, clickId });
      continue;
    }
    const { kind, everyMs } = strangers;
    const other = slots[(slot.index + nth) % slots.length] as Slot;
    clock.after(clock.outside, nth * everyMs, () => world.report(other, { number, kind, visitor, clickId }));
  }
}

function checkDeadline({ clock, ledger }: World, owner: Owner, promise: string, deadline: number): void {
  const lateMs = clock.monotonic() - deadline;
  if (owner.isAlive && lateMs > TOLERANCE_MS && !hasStoodStillSince(owner, deadline - TOLERANCE_MS)) {
    ledger.breaks(promise, `${owner.name} is ${Math.round(lateMs)} ms late`);
  }
}

/** What a gateway's webhook of a refund does. It may fail, and is not done again here. */
function cancel(world: World, slot: Slot, { nth }: Extract<Step, { do: "cancel" }>): void {
  const { ledger } = world;
  world.as(slot, ({ outbox, owner, program }) => {
    const scheduled = [...ledger.records.values()].filter(
      (record) => record.program === program && record.notBefore !== undefined,
    );
    const record = scheduled[nth % Math.max(1, scheduled.length)];
    if (!record) return;
    record.isToBeCancelled = true;
    outbox.cancel(record.id).then(
      (outcome) => {
        ledger.write(`${owner.name}: ${record.name} is ${outcome}`);
        if (outcome !== "cancelled" || !owner.isAlive || record.ends.at(-1) === "discarded") return;
        if (record.requests.length > record.requestsBefore)
          ledger.breaks("a payment that is cancelled was not sent", record.name);
        ledger.of(owner).discarded++;
        record.ends.push("discarded");
      },
      (error) => ledger.write(`${owner.name}: cancelling ${record.name} failed: ${error}`),
    );
  });
}

type ByHand = Extract<Step, { do: "retry" | "discard" | "retry all" }>;

/** What an operator does with dead letters. These reject if the storage fails. */
function byHand(world: World, slot: Slot, step: ByHand): void {
  const { ledger } = world;
  world.as(slot, ({ outbox: { deadLetters }, owner, program }) => {
    const operate = async () => {
      const letters = await deadLetters.list({ limit: 1_000 });
      const records = letters
        .map(({ id }) => ledger.find(program, id))
        .filter((record) => record !== undefined);
      if (step.do === "retry all") {
        const unconfirmed = letters.filter(({ reason }) => reason === "unconfirmed").map(({ id }) => id);
        // In the order in which they happened.
        const createdAt = new Map(letters.map((letter) => [letter.id, letter.createdAt]));
        records.sort((one, other) => (createdAt.get(one.id) ?? 0) - (createdAt.get(other.id) ?? 0));
        const undo = records.map((record) => ledger.retried(record));
        const retried = await deadLetters.retryAll(step.unconfirmedToo ? { reason: "unconfirmed" } : {});
        // Those that are dead still were left alone.
        const left = new Set((await deadLetters.list({ limit: 1_000 })).map(({ id }) => id));
        for (const [nth, record] of records.entries()) if (left.has(record.id)) undo[nth]?.();
        // What died after the first list was made was retried, too.
        for (const record of ledger.records.values()) {
          const hasDied = record.program === program && record.ends.at(-1) === "dead";
          if (hasDied && !left.has(record.id)) ledger.retried(record);
        }
        ledger.write(
          `${owner.name}: ${retried} of ${letters.length} were retried, ${unconfirmed.length} in doubt`,
        );
        return;
      }
      const record = records[step.nth % Math.max(1, records.length)];
      if (!record) return;
      // Noted before it happens: the event may be sent before its caller gets the receipt.
      const ends = record.ends;
      const undo = step.do === "retry" ? ledger.retried(record) : () => {};
      const done = await (step.do === "retry"
        ? deadLetters.retry(record.id)
        : deadLetters.discard(record.id));
      ledger.write(`${owner.name}: ${step.do} of ${record.name}: ${done}`);
      if (!done) undo();
      else if (step.do === "discard") {
        ledger.of(owner).discarded++;
        record.ends = [...ends.slice(0, -1), "discarded"];
        // It was listed before the process told that it is dead.
      } else if (record.ends[0] === "dead") record.ends.shift();
    };
    operate().catch((error) => ledger.write(`${owner.name}: ${step.do} failed: ${error}`));
  });
}
