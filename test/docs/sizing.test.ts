import { describe, expect, it, onTestFinished } from "vitest";
import { MIB } from "../../src/outbox/option-types.js";
import { sample } from "../contract/samples.js";
import { openDisk } from "../helpers/disk-store.js";
import { textOf } from "../helpers/docs/pages.js";
import { measured, rowsOf } from "../helpers/docs/results.js";
import { scratchDirectory } from "../helpers/scratch.js";

const text = textOf("docs/sizing.md");
const takes = rowsOf(text, "What one takes");
/** `5 to 10 µs` is from 5 to 10, `7 µs` from 7 to 7. */
function rangeIn(cell = ""): [least: number, most: number] {
  const [, least = "", most = least] = /([\d,.]+)(?: to ([\d,.]+))?/.exec(cell) ?? [];
  return [Number(least.replaceAll(",", "")), Number(most.replaceAll(",", ""))];
}

describe("what one takes", () => {
  it.each([
    ["one report, of the main thread", "memory", "Handing over", "µs of main thread"],
    ["one report, of the main thread", "disk", "Handing over", "µs of main thread"],
    ["one report, of the main thread", "Postgres", "Handing over", "µs of main thread"],
    ["until its receipt, of 100 reported at once", "memory", "Handing over", "µs until the receipt"],
    ["until its receipt, of 100 reported at once", "disk", "Handing over", "µs until the receipt"],
    ["until its receipt, of 100 reported at once", "Postgres", "Handing over", "µs until the receipt"],
    ["an event that waits", "memory", "Handing over", "bytes of heap"],
    ["events delivered in a second, if the service answers at once", "memory", "Delivering", "events/s"],
    ["events delivered in a second, if the service answers at once", "disk", "Delivering", "events/s"],
  ])("%s, %s: within a half of what was measured", (what, outbox, heading, column) => {
    const [least, most] = rangeIn(takes.find((row) => row.what === what)?.[outbox]);
    const key = heading === "Delivering" ? "carrier" : "outbox";
    for (const number of measured(heading, column, { [key]: outbox.toLowerCase() })) {
      expect(most / number).toBeGreaterThan(1 / 1.5);
      expect(least / number).toBeLessThan(1.5);
    }
  });

  it("is for an event on disk what was measured at most and at least", () => {
    const numbers = measured("Handing over", "bytes on disk", { outbox: "disk" });
    const [, least, most] = /(\d+) to (\d+) bytes on disk/.exec(text) ?? [];
    expect(Math.min(...numbers) / Number(least)).toBeCloseTo(1, 1);
    expect(Math.max(...numbers) / Number(most)).toBeCloseTo(1, 1);
  });

  it("is a GiB for 1 to 1.5 million payments that wait", async () => {
    const mib = 8;
    const disk = openDisk(scratchDirectory(), { maxBytes: mib * MIB });
    onTestFinished(() => disk.close());
    let waiting = 0;
    const report = () => ({ type: "append", event: sample("payment") }) as const;
    for (let results: unknown[] = ["queued"]; results.every((result) => result === "queued"); ) {
      results = [...(await disk.run(...Array.from({ length: 200 }, report))).results];
      waiting += results.filter((result) => result === "queued").length;
    }
    expect(text).toContain("1 to 1.5 million per GiB");
    expect((waiting / mib) * 1024).toBeGreaterThan(1e6);
    expect((waiting / mib) * 1024).toBeLessThan(1.5e6);
  });
});
