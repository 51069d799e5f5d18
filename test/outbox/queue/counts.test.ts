import type { OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type CountRow,
  changeOf,
  countsOf,
  createCounts,
  storedChange,
} from "../../../src/outbox/queue/counts.js";
import { Scope } from "../../../src/outbox/queue/scope.js";
import { DESTINATION, sample } from "../../contract/samples.js";

/**
 * A request to a server. A test chooses when the server commits it, and when the process gets the
 * answer.
 */
interface Request {
  commit(): void;
  answer(): Promise<void>;
}

/** Events in a server that counts them, and a process that changes them. */
function world(backlog: number) {
  const stored = new Set<OutboxEvent>(Array.from({ length: backlog }, () => sample("payment")));
  const known = new Set(stored);
  let asked: { rows?: readonly CountRow[]; resolve(rows: readonly CountRow[]): void } | undefined;
  const scope = new Scope(DESTINATION);
  const counts = createCounts(() => new Promise((resolve) => (asked = { resolve })), scope);
  let coming = 0;

  function request(effect: () => void, work: (answered: Promise<void>) => Promise<unknown>): Request {
    let answer = () => {};
    const ended = work(new Promise((resolve) => (answer = resolve)));
    return {
      commit: effect,
      async answer() {
        answer();
        await ended;
      },
    };
  }

  return {
    counts,
    stored,
    /** Those that this process may settle. */
    known,
    /**
     * What `counts()` of an outbox says: it adds the events that are on their way to the storage.
     */
    queued: () => countsOf(counts.rows, scope).queued + coming,
    add(): Request {
      const event = sample("payment");
      coming++;
      return request(
        () => stored.add(event),
        async (answered) => {
          await counts.during(
            () => answered,
            () => [storedChange(event, Date.now())],
          );
          known.add(event);
          coming--;
        },
      );
    },
    settle(): Request | undefined {
      const [event] = known;
      if (!event) return undefined;
      known.delete(event);
      return request(
        () => stored.delete(event),
        (answered) =>
          counts.during(
            () => answered,
            () => [changeOf(event, "queued", -1)],
          ),
      );
    },
    async count(): Promise<Request> {
      const taken = counts.take();
      await Promise.resolve();
      return {
        commit() {
          if (!asked) throw new Error("the server was not asked");
          asked.rows = rowsOf(stored);
        },
        async answer() {
          asked?.resolve(asked.rows ?? []);
          await taken;
        },
      };
    },
  };
}

function rowsOf(stored: ReadonlySet<OutboxEvent>): CountRow[] {
  const payment = { destination: DESTINATION, kind: "payment" } as const;
  return stored.size > 0 ? [changeOf(payment, "queued", stored.size, { at: 1 })] : [];
}

async function atOnce(request: Request): Promise<void> {
  request.commit();
  await request.answer();
}

const steps = fc.array(
  fc.record({
    does: fc.constantFrom("add", "add", "settle", "settle", "count", "commit", "commit", "answer", "answer"),
    nth: fc.nat(100),
  } as const),
  { maxLength: 150, size: "max" },
);

test("the number of events, whenever it is counted, is never less than what waits, and in the end it is right", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(20), fc.boolean(), steps, async (backlog, beginsAtRest, all) => {
      const { stored, queued, add, settle, count } = world(backlog);
      let isCounted = beginsAtRest;
      if (beginsAtRest) await atOnce(await count());
      let counting: Request | undefined;
      const begun: Request[] = [];
      const committed: Request[] = [];
      const answer = async (request: Request) => {
        await request.answer();
        if (request !== counting) return;
        counting = undefined;
        isCounted = true;
      };
      for (const { does, nth } of all) {
        if (does === "add") begun.push(add());
        if (does === "settle") begun.push(...[settle()].filter((each) => each !== undefined));
        if (does === "count" && !counting) {
          counting = await count();
          begun.push(counting);
        }
        if (does === "commit") {
          for (const each of begun.splice(nth % (begun.length + 1), 1)) {
            each.commit();
            committed.push(each);
          }
        }
        if (does === "answer") {
          for (const each of committed.splice(nth % (committed.length + 1), 1)) await answer(each);
        }
        if (isCounted) expect(queued()).toBeGreaterThanOrEqual(stored.size);
      }
      for (const each of begun) each.commit();
      for (const each of [...committed, ...begun]) await answer(each);
      await atOnce(await count());

      expect(queued()).toBe(stored.size);
    }),
  );
});
