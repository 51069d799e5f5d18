import fc from "fast-check";
import { expect, test } from "vitest";
import { backoffMs } from "../../../src/delivery/when-again.js";
import { type History, UNTRIED, type Verdict } from "../../../src/outbox/outbox.js";
import { idsOf, sample, scheduledSample, stranger } from "../../contract/samples.js";
import { DELIVERED, diskOf, openDisk, settling } from "../../helpers/disk-store.js";
import { anyCharacter } from "../../helpers/for-any.js";
import { scratchDirectory } from "../../helpers/scratch.js";
import { HOUR_MS } from "../../helpers/times.js";

/** As delivery does after an attempt that failed. */
function again(history: History, now: number): Verdict {
  const failures = history.failures + 1;
  const next = { ...history, attempts: history.attempts + 1, failures, triedAt: now };
  return { type: "retry", inMs: backoffMs(failures, 0.5), history: next };
}

const FIELDS = ["clickId", "sessionId", "leadValue", "notBefore", "customerEmail", "__proto__"];
const someOf = (names: readonly string[], whole: object) =>
  fc
    .dictionary(fc.constantFrom(...names), fc.jsonValue())
    .map((some) => JSON.stringify({ ...whole, ...some }));
const damaged = (whole: object) =>
  fc
    .tuple(fc.nat(JSON.stringify(whole).length), fc.nat(3), fc.string({ unit: anyCharacter, maxLength: 3 }))
    .map(([at, length, text]) => {
      const json = JSON.stringify(whole);
      return json.slice(0, at) + text + json.slice(at + length);
    });
const textIn = (whole: object, names: readonly string[]) =>
  fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.json(),
    someOf(names, {}),
    someOf(names, whole),
    damaged(whole),
  );

test("any text in place of an event's data or history stops no other event", async () => {
  const { data } = sample("payment");
  const aDamage = fc.oneof(
    fc.record({ column: fc.constant("data"), text: textIn(data, FIELDS) }),
    fc.record({ column: fc.constant("history"), text: textIn(UNTRIED, Object.keys(UNTRIED)) }),
  );
  await fc.assert(
    fc.asyncProperty(aDamage, async ({ column, text }) => {
      let now = Date.now();
      const disk = openDisk(scratchDirectory(), { time: () => now });
      const visitor = stranger();
      const unreadable = [
        sample("payment", visitor),
        scheduledSample(HOUR_MS),
        sample("registration", visitor),
      ];
      const others = [sample("click", visitor), sample("payment", visitor), scheduledSample(HOUR_MS)];
      const [queued, due, last] = unreadable;
      const [first, behind, dueToo] = others;
      await disk.append(...([first, queued, behind, last, due, dueToo] as typeof others));
      const damage = disk.db.prepare(`update events set ${column} = ? where id in (?, ?, ?)`);
      damage.run(text, ...idsOf(unreadable));

      const delivered: string[] = [];
      // Each event is tried twice, and one of a visitor at a time.
      for (let round = 0; round < 2 * (others.length + unreadable.length); round++) {
        now += 2 * HOUR_MS;
        await disk.store.look();
        const claims = await disk.claim(10);
        const verdictOn = ({ event: { id }, history }: (typeof claims)[0]) => {
          if (history.attempts === 0) return again(history, now);
          delivered.push(id);
          return DELIVERED;
        };
        await disk.run(...claims.map((claim) => settling(claim, verdictOn(claim))));
      }
      const letters = await disk.calls.list();
      disk.close();

      expect(delivered).toEqual(expect.arrayContaining(idsOf(others)));
      const buried = letters.filter(({ code }) => code === "ERR_UNREADABLE");
      expect([...delivered, ...idsOf(buried)].sort()).toEqual(idsOf([...others, ...unreadable]).sort());
    }),
    {
      numRuns: 100,
      examples: [
        ...['{"half', '{"a":"b"x}', '{"clickId":7}', '{"notBefore":"soon"}'].map((text) => ({
          column: "data",
          text,
        })),
        ...['{"a":"b"x}', "{}"].map((text) => ({ column: "history", text })),
      ].map((damage) => [damage] as [typeof damage]),
    },
  );
}, 60_000);

test.each([
  ["queued", () => sample("payment"), ""],
  ["scheduled", () => scheduledSample(HOUR_MS), "update events set at_ms = 1"],
  [
    "reported in a transaction",
    () => sample("payment"),
    "update events set state = 0, at_ms = 0, visitor = ''",
  ],
])(
  "one that was %s counts at once as a dead letter, and is within their bounds",
  async (_, event, change) => {
    const now = Date.now();
    const disk = diskOf({ time: () => now, maxDeadLetters: 1 });
    await disk.append(event(), event());
    disk.db.exec(`update events set data = '{"half'; ${change}`);
    if (change) disk.db.exec("delete from queues");

    await disk.store.look();
    expect(await disk.claim(2)).toEqual([]);

    expect((await disk.counts()).dead.rejected).toBe(1);
    expect(await disk.calls.list()).toMatchObject([{ code: "ERR_UNREADABLE" }]);
  },
);
