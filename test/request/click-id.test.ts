import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createClickId, wasReported } from "../../src/request/click-id.js";
import { anyCharacter, forAny } from "../helpers/for-any.js";
import { HOUR_MS, MINUTE_MS } from "../helpers/times.js";

const NOW = Date.UTC(2026, 10, 24, 12, 30);

/** Clicks on these links in turn; each at so many milliseconds after the one before it. */
function clicksOf(visits: readonly (readonly [reference: string, afterMs: number])[]) {
  let clickId: string | undefined;
  let now = NOW;
  const reported: { reference: string; at: number; clickId: string }[] = [];
  for (const [reference, afterMs] of visits) {
    now += afterMs;
    if (wasReported(clickId, reference, now)) continue;
    clickId = createClickId(reference, now, clickId);
    reported.push({ reference, at: now, clickId });
  }
  return reported;
}

const reference = fc.constantFrom("ALICE", "BOB", "CAROL", "DAVE", "ERIN", "FRANK", "GRACE");
const visits = (references: fc.Arbitrary<string>) =>
  fc.array(fc.tuple(references, fc.nat(40 * MINUTE_MS)), { maxLength: 60 });

describe("a click id of onClick", () => {
  it("lets no link of seven be reported twice within an hour, however the visitor alternates", () => {
    forAny(visits(reference), (all) => {
      const last = new Map<string, number>();
      for (const { reference, at } of clicksOf(all)) {
        expect(at - (last.get(reference) ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(HOUR_MS);
        last.set(reference, at);
      }
    });
  });

  it("lets each link be reported again after an hour and a minute", () => {
    const areReportedAgain = (all: Parameters<typeof clicksOf>[0]) => {
      const reported = clicksOf(all);
      let now = NOW;
      return all.every(([reference, afterMs]) => {
        now += afterMs;
        const before = reported.filter((click) => click.reference === reference && click.at <= now);
        return now - (before.at(-1)?.at ?? 0) < HOUR_MS + MINUTE_MS;
      });
    };
    // By chance, two references have one tag: not with other salts, too.
    forAny(visits(reference), (all) => areReportedAgain(all) || areReportedAgain(all));
  });

  it("is new for each click, and has at most 60 characters of A-Z, a-z, 0-9, - and _", () => {
    forAny(visits(fc.string({ minLength: 1 })), (all) => {
      const ids = clicksOf(all).map(({ clickId }) => clickId);
      expect(new Set(ids).size).toBe(ids.length);
      for (const id of ids) expect(id).toMatch(/^[\w-]{30,60}$/);
    });
  });

  it("of anyone else says nothing, and hurts nothing", () => {
    const time = NOW.toString(36);
    const likeOne = fc
      .tuple(fc.stringMatching(/^[0-9a-z]{8,9}$/), fc.stringMatching(/^[\w-]{0,60}$/))
      .map(([at, rest]) => `${at}-${rest}`);
    forAny(
      fc.oneof(fc.string({ unit: anyCharacter }), likeOne, fc.stringMatching(/^[\x21-\x7e]{1,256}$/)),
      reference,
      (previous, link) => {
        expect(wasReported(undefined, link, NOW)).toBe(false);
        expect(typeof wasReported(previous, link, NOW)).toBe("boolean");
        const id = createClickId(link, NOW, previous);
        expect(id.slice(0, time.length + 1)).toBe(`${time}-`);
        expect(wasReported(id, link, NOW)).toBe(true);
        expect(id).toMatch(/^[\w-]{30,60}$/);
      },
    );
  });

  it("names references that only its visitor's salt tells apart, so that no affiliate can choose another's name", () => {
    const references = Array.from({ length: 9_000 }, (_, nth) => `R${nth}`);
    const taken = (clickId: string) => references.filter((each) => wasReported(clickId, each, NOW));
    const tagOf = (clickId: string) => clickId.slice(26, 30);
    const [one, other] = [createClickId("R1", NOW), createClickId("R1", NOW)];
    expect(tagOf(one)).not.toBe(tagOf(other));
    const alsoTaken = new Set(taken(other));
    expect(taken(one).filter((each) => alsoTaken.has(each))).toEqual(["R1"]);
    // A visitor's ids share it while one names earlier references.
    const next = createClickId("R2", NOW, one);
    expect(next.slice(9, 17)).toBe(one.slice(9, 17));
    expect(createClickId("R2", NOW + 2 * HOUR_MS, one).slice(9, 17)).not.toBe(one.slice(9, 17));
  });

  it("from the future says nothing: the clock was wrong then", () => {
    const id = createClickId("ALICE", NOW + 1);
    expect(wasReported(id, "ALICE", NOW)).toBe(false);
    expect(wasReported(id, "ALICE", NOW + 1)).toBe(true);
  });
});
