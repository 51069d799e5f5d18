import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { expect, test } from "vitest";
import { lineOf } from "../../../../src/outbox/disk/spool/spool-files.js";
import { createTakeIn } from "../../../../src/outbox/disk/spool/take-in.js";
import type { DiskClaim } from "../../../../src/outbox/disk/store/calls.js";
import { sample, stranger, withData } from "../../../contract/samples.js";
import { DELIVERED, diskOf, someOf } from "../../../helpers/disk-store.js";
import { FakeClock } from "../../../helpers/fake-clock.js";
import { anyCharacter } from "../../../helpers/for-any.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

const MIB = 1024 * 1024;

/** An outbox in which the processes that have ended left spool files. */
function setUp({ maxBytes = 64 * MIB, directory = scratchDirectory() } = {}) {
  const disk = diskOf({ maxBytes }, directory);
  const living = new Set<string>();
  const clock = new FakeClock();
  const stateOf = (owner: string) => (living.has(owner) ? "running" : "ended");
  const takeIn = createTakeIn(disk.path, { stateOf }, clock);
  const spoolOf = (owner: string, nth = 1) => `${disk.path}-spool-${owner}.${nth}`;
  const spool = (owner: string, ...content: readonly (OutboxEvent | string)[]): string => {
    const text = content.map((each) => (typeof each === "string" ? each : lineOf(each))).join("");
    writeFileSync(spoolOf(owner), text, { mode: 0o600 });
    return spoolOf(owner);
  };
  const steps = async (by = takeIn) => {
    const outcomes = [];
    while (by.finds()) outcomes.push(await by.step(disk.store));
    return outcomes;
  };
  const all = async () => {
    const first = await steps();
    await clock.pass(2_000);
    return [...first, ...(await steps())];
  };
  const claimed = async () => {
    const events: OutboxEvent[] = [];
    for (let some = await disk.claim(200); some.length > 0; some = await disk.claim(200))
      events.push(...some.map(({ event }) => event));
    return events;
  };
  const left = () => readdirSync(directory).filter((name) => name.includes("-spool-"));
  return { directory, clock, disk, living, takeIn, spool, spoolOf, steps, all, claimed, left };
}

test("the take-in of spools stores each line once, in order, after what was stored before, removes the file, and leaves alone what a living process writes", async () => {
  const { disk, living, spool, all, left } = setUp();
  living.add("alive");
  spool("alive", ...someOf("payment", 1));
  const visitor = stranger();
  const events = [sample("click", visitor), sample("registration", visitor), sample("payment", visitor)];
  const [click, registration, payment] = events as [OutboxEvent, OutboxEvent, OutboxEvent];
  await disk.append(click);
  spool("gone", click, registration, payment, registration);
  await all();

  expect(left()).toEqual([expect.stringContaining("alive")]);
  for (const event of events) {
    const [claim] = (await disk.claim(10)) as [DiskClaim];
    expect(claim.event).toEqual(event);
    await disk.settle(claim, DELIVERED);
  }
  expect(await disk.claim(10)).toEqual([]);
});

test("the take-in of spools stores 200 lines at a time, so that other processes can write in between", async () => {
  const { spool, all, claimed } = setUp();
  const events = someOf("payment", 1_001);
  spool("gone", ...events);
  expect((await all()).map(({ results }) => results.length)).toEqual([200, 200, 200, 200, 200, 1]);
  expect(await claimed()).toHaveLength(1_001);
});

test("the take-in of spools reads again what a writer that lives has appended meanwhile, before it removes the file", async () => {
  const { takeIn, disk, spool, clock, claimed, left } = setUp();
  const [before, after] = someOf("payment", 2) as [OutboxEvent, OutboxEvent];
  const path = spool("alive after all", before, lineOf(after).slice(0, 30));
  expect(takeIn.finds()).toBe(true);
  await takeIn.step(disk.store);
  appendFileSync(path, lineOf(after).slice(30));
  // Not at once: it may be written all the time.
  expect(takeIn.finds()).toBe(false);
  await clock.pass(250);
  expect(takeIn.finds()).toBe(true);
  await takeIn.step(disk.store);
  expect(await claimed()).toEqual([before, after]);
  expect([takeIn.finds(), left().length]).toEqual([false, 1]);
  await clock.pass(250);
  expect([takeIn.finds(), left()]).toEqual([false, []]);
});

test("the take-in of spools skips damaged lines, and says once how many", async () => {
  const { spool, all, claimed } = setUp();
  const [first, second, cut] = someOf("payment", 3) as [OutboxEvent, OutboxEvent, OutboxEvent];
  const line = lineOf(cut);
  const path = spool("gone", first, "nonsense\n", line.slice(0, 40), "\n\n", second, line.slice(0, -9));
  const problems = (await all()).flatMap(({ problems = [] }) => problems);

  expect(problems).toEqual([
    {
      code: "ERR_AFFILIATE_DISK_DAMAGED",
      message: `diskOutbox: 3 lines of ${path} could not be read, and are not sent; the process that wrote them has ended`,
    },
  ]);
  expect(await claimed()).toEqual([first, second]);
});

test("the take-in of spools reports as dropped what there is no space for", async () => {
  const { spool, all, disk } = setUp({ maxBytes: MIB });
  const events = someOf("payment", 4_000);
  spool("gone", ...events);
  const dropped = (await all()).flatMap((outcome) => outcome.dropped);

  expect(dropped.length).toBeGreaterThan(0);
  expect(new Set(dropped.map(({ reason }) => reason))).toEqual(new Set(["full"]));
  expect((await disk.counts()).queued + dropped.length).toBe(events.length);
});

test("of two processes that take in a spool, the one that removes it reports what is lost", async () => {
  const { spool, disk, steps, clock, all } = setUp({ maxBytes: MIB });
  const takeIn = createTakeIn(disk.path, { stateOf: () => "ended" }, clock);
  const events = someOf("payment", 4_000);
  spool("gone", ...events, "nonsense\n");
  const outcomes = [...(await steps()), ...(await steps(takeIn))];
  expect(outcomes.flatMap(({ dropped, problems }) => [...dropped, ...problems])).toEqual([]);
  await clock.pass(2_000);
  outcomes.push(...(await steps(takeIn)), ...(await all()));

  const dropped = outcomes.flatMap((outcome) => outcome.dropped).map(({ event }) => event.id);
  expect(new Set(dropped).size).toBe(dropped.length);
  expect((await disk.counts()).queued + dropped.length).toBe(events.length);
  expect(outcomes.flatMap(({ problems }) => problems)).toHaveLength(1);
});

test("the take-in of spools reports nothing as dropped that another process had space for meanwhile", async () => {
  const { spool, disk, steps, clock } = setUp({ maxBytes: MIB });
  const other = createTakeIn(disk.path, { stateOf: () => "ended" }, clock);
  const events = someOf("payment", 4_000);
  spool("gone", ...events);
  await steps();
  for (let some = await disk.claim(200); some.length > 0; some = await disk.claim(200))
    for (const claim of some) await disk.settle(claim, DELIVERED);
  await steps(other);
  await clock.pass(2_000);
  const dropped = (await steps()).flatMap((outcome) => outcome.dropped).map(({ event }) => event);

  expect(dropped.length).toBeGreaterThan(0);
  expect(new Set(await disk.append(...dropped))).not.toContain("duplicate");
});

test("the take-in of spools stores no more of a file once another process has removed it, and told what is lost", async () => {
  const { takeIn, spool, disk, steps, clock } = setUp();
  const other = createTakeIn(disk.path, { stateOf: () => "ended" }, clock);
  spool("gone", ...someOf("payment", 1_000));
  expect(takeIn.finds()).toBe(true);
  await takeIn.step(disk.store);
  await steps(other);
  await clock.pass(250);
  await steps(other);
  expect(takeIn.finds()).toBe(false);
});

test("the take-in of spools tells nothing as dropped that a process has whose thread had ended for a moment", async () => {
  const { spool, disk, living, steps, clock, left } = setUp({ maxBytes: MIB });
  spool("back soon", ...someOf("payment", 4_000));
  await steps();
  await clock.pass(1_500);
  const early = await steps();
  living.add("back soon");
  await clock.pass(500);

  expect([...early, ...(await steps())]).toEqual([]);
  expect([left().length, (await disk.counts()).queued > 0]).toEqual([1, true]);
});

test("the take-in of spools leaves alone what only has the name of a spool file", async () => {
  const { directory, spoolOf, all, left } = setUp();
  const mine = join(directory, "mine");
  writeFileSync(mine, lineOf(sample("payment")));
  symlinkSync(mine, spoolOf("link"));
  linkSync(mine, spoolOf("hard-link"));
  mkdirSync(spoolOf("directory"));
  await all();

  expect(left()).toHaveLength(3);
  expect(readFileSync(mine, "utf8")).not.toBe("");
});

test("the take-in of spools throws for no file, whatever is in it, and stores each whole line", async () => {
  const { spool, all, disk, left } = setUp();
  const noise = fc
    .string({ unit: anyCharacter, maxLength: 200 })
    .map((text) => `${text.replaceAll("\n", "")}\n`);
  const cut = fc.nat(150).map((length) => `${lineOf(sample("click")).slice(0, length)}\n`);
  const changed = (fields: object) => ({ ...sample("payment"), ...fields }) as unknown as OutboxEvent;
  const strange = fc.oneof(
    fc.dictionary(fc.string(), fc.jsonValue()).map((data) => changed({ data })),
    fc
      .constantFrom(
        ...[{ id: "no id" }, { kind: "refund" }, { kind: "constructor" }, { destination: "" }],
        ...[{ createdAt: "today" }, { data: null }, { data: [] }, { data: { clickId: 1 } }],
        ...[{ data: { leadValue: {} } }, { data: { notBefore: 1e300 } }],
      )
      .map(changed),
  );
  const text = fc.string({ unit: anyCharacter, maxLength: 40 });
  const part = fc.oneof(
    noise,
    cut,
    strange.map(lineOf),
    text.map((affiliateReference) => ({ affiliateReference })),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 10 }), async (parts) => {
      const events: OutboxEvent[] = [];
      const content = parts.map((each) => {
        if (typeof each === "string") return each;
        return lineOf(events[events.push(withData(sample("click"), each)) - 1] as OutboxEvent);
      });
      spool("gone", ...content);
      await all();
      expect(left()).toEqual([]);
      expect(await disk.append(...events)).toEqual(events.map(() => "duplicate"));
    }),
    { numRuns: 50 },
  );
});
