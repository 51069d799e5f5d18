import { join } from "node:path";
import type { OutboxEvent } from "express-affiliate";
import { expect, onTestFinished, test } from "vitest";
import { openFile } from "../../../../src/outbox/disk/file/file.js";
import type { Database, Statement, Value } from "../../../../src/outbox/disk/file/sqlite.js";
import { type DiskClaim, type Request, settling } from "../../../../src/outbox/disk/queue/requests.js";
import { createStore } from "../../../../src/outbox/disk/queue/store.js";
import { ENDPOINTS } from "../../../../src/service/endpoints.js";
import { DESTINATION, sample, stranger } from "../../../contract/samples.js";
import { engine, someOf } from "../../../helpers/disk-store.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

// More than a pass or a claim takes at once, of whatever it is.
const MANY = 5_000;
const LIMITS = { maxBytes: 2 ** 31, maxDeadLetters: 1_000, rememberMs: 3_600_000, leaseMs: 20_000 };

/**
 * A store, and the statements that it executes, those of one transaction apart from those of the
 * next.
 */
function openCounted(directory = scratchDirectory(), owner = "me") {
  const file = openFile(join(directory, "outbox.db"), { engine, maxBytes: LIMITS.maxBytes });
  onTestFinished(() => file.close());
  const executed: string[] = [];
  const store = createStore(counted(file.db, executed), owner, LIMITS);
  const take = () => executed.splice(0);

  function run(...requests: readonly Request[]) {
    const { results } = store.run(requests);
    return { claims: results.at(-1) as DiskClaim[], results, executed: take() };
  }
  return { store, run, take };
}

function counted(db: Database, executed: string[]): Database {
  const wordsOf = (sql: string) => sql.trim().split(/\s+/).slice(0, 3).join(" ");
  const prepare = (sql: string): Statement => {
    const statement = db.prepare(sql);
    const count =
      <T>(call: (...values: Value[]) => T) =>
      (...values: Value[]) => {
        executed.push(wordsOf(sql));
        return call(...values);
      };
    return {
      run: count((...values) => statement.run(...values)),
      get: count((...values) => statement.get(...values)),
      all: count((...values) => statement.all(...values)),
    };
  };
  const exec = (sql: string) => {
    executed.push(...sql.split(";").map(wordsOf));
    db.exec(sql);
  };
  return { prepare, exec, close: () => db.close() };
}

const append = (event: OutboxEvent): Request => ({ type: "append", event });
const claim = (limit = 8): Request => ({
  type: "claim",
  capacity: { destination: DESTINATION, limit, lanes: ENDPOINTS.map((endpoint) => ({ endpoint, limit })) },
});
const delivered = (claimed: DiskClaim) => settling(claimed, { type: "delivered" });

/** Stores a payment, claims it and settles it. */
function deliverOne({ run }: ReturnType<typeof openCounted>): void {
  run(delivered(run(append(sample("payment")), claim()).claims[0] as DiskClaim), claim());
}

test("the store executes at most twelve statements for a payment, from its report to its delivery", () => {
  const disk = openCounted();
  const { run } = disk;
  // What is the same for all of them is learned with the first.
  deliverOne(disk);
  const payment = sample("payment");

  const first = run(append(payment), claim());
  expect(first.claims).toMatchObject([{ event: payment, interrupted: false }]);
  const second = run(delivered(first.claims[0] as DiskClaim), claim());
  expect(second.results).toEqual([true, []]);

  expect(first.executed).toEqual([
    "begin immediate",
    "pragma data_version",
    "insert or ignore",
    "insert into events",
    "update state set",
    "commit",
  ]);
  expect(second.executed).toEqual([
    "begin immediate",
    "pragma data_version",
    "insert into delivered",
    "delete from events",
    "update state set",
    "commit",
  ]);
});

test("the store executes six statements more if another process writes before each of its transactions", () => {
  const directory = scratchDirectory();
  const [one, other] = [openCounted(directory, "one"), openCounted(directory, "other")];
  deliverOne(one);
  deliverOne(other);
  const first = one.run(append(sample("payment")), claim());
  deliverOne(other);
  const second = one.run(delivered(first.claims[0] as DiskClaim), claim());

  expect(first.executed.length + second.executed.length).toBe(12 + 6);
});

test("the store executes eight statements for a pass through a backlog, however many payments it settles and claims, and deletes settled ones by the hundred", () => {
  const { run, take } = openCounted();
  const payments = someOf("payment", 2_000);
  for (let from = 0; from < payments.length; from += 200)
    run(...payments.slice(from, from + 200).map(append));
  take();
  let gone = 0;
  let removals = 0;
  let { claims } = run(claim());
  while (claims.length > 0) {
    gone += claims.length;
    const settled = run(...claims.map(delivered), claim());
    const removing = settled.executed.filter((sql) =>
      /^(insert into delivered|delete from events)/.test(sql),
    );
    expect(settled.executed.length - removing.length).toBeLessThanOrEqual(8);
    removals += removing.length;
    ({ claims } = settled);
  }
  expect(gone).toBe(payments.length);
  expect(removals).toBeLessThanOrEqual(2 * Math.ceil(payments.length / 256) + 2);
});

test("the store counts, claims and keeps in order what another process has stored, settled or sent back meanwhile", () => {
  const directory = scratchDirectory();
  const [one, other] = [openCounted(directory, "one"), openCounted(directory, "other")];
  const visitor = stranger();
  const pay = () => sample("payment", visitor);
  const [first, second, third] = [pay(), pay(), pay()];
  const queued = ({ store }: typeof one) => store.run([]).snapshot.counts[DESTINATION]?.byKind.payment;

  const { claims } = one.run(append(first), claim());
  expect(other.run(append(second), claim()).claims).toEqual([]);
  expect(one.run(append(third), claim()).claims).toEqual([]);
  expect(other.run(append(third)).results).toEqual(["duplicate"]);
  expect(queued(one)).toEqual({ queued: 3, oldest: first.createdAt });

  one.run(delivered(claims[0] as DiskClaim));
  const next = other.run(claim()).claims;
  expect(next).toMatchObject([{ event: second }]);
  expect(one.run(claim()).claims).toEqual([]);
  other.run(settling(next[0] as DiskClaim, { type: "release" }));
  expect(one.run(claim()).claims).toMatchObject([{ event: second }]);
  expect(queued(other)).toEqual({ queued: 2, oldest: second.createdAt });
});

test("the store finds what a payment waits for with the same statements, however many events wait, and however many are its visitor's", () => {
  const lanes = [{ endpoint: "click", limit: 1 }] as const;
  const claimClick: Request = { type: "claim", capacity: { destination: DESTINATION, limit: 1, lanes } };

  /**
   * What is executed for the first payment of a visitor with so many clicks, and for the second.
   */
  function executedFor(strangers: number, ownClicks: number) {
    const { run } = openCounted();
    const { sessionId } = stranger();
    const others = Array.from({ length: strangers }, () => sample("click"));
    const own = Array.from({ length: ownClicks }, () => sample("click", { ...stranger(), sessionId }));
    const all = [...others, ...own, sample("payment")].map(append);
    for (let from = 0; from < all.length; from += 1_000) run(...all.slice(from, from + 1_000));
    // The lines are complete, and one click is under way.
    for (let found: DiskClaim[] = []; found.length === 0; ) found = run(claimClick).claims;
    const pay = () => {
      run(append(sample("payment", { sessionId })));
      const { claims, executed } = run(claimClick);
      run(settling(claims[0] as DiskClaim, { type: "release" }));
      return { claimed: claims[0]?.event.data.sessionId === sessionId, executed };
    };
    return [pay(), pay()];
  }

  const few = executedFor(10, 1);
  expect(few).toMatchObject([{ claimed: true }, { claimed: true }]);
  expect(few[0]?.executed.filter((sql) => sql === "with recursive ahead")).toHaveLength(1);
  expect(executedFor(MANY, 1)).toEqual(few);
  expect(executedFor(10, 90)).toEqual(few);
}, 300_000);
