import { describe, expect, it } from "vitest";
import { MIB } from "../../src/outbox/option-types.js";
import { heapSizeOf } from "../../src/outbox/shedding.js";
import { sample } from "../contract/samples.js";
import { appending, type Disk, diskOf, REJECTED, settleAll, someOf } from "../helpers/disk-store.js";
import { textOf } from "../helpers/docs/pages.js";

const text = textOf("docs/sizing.md");

describe("what one takes", () => {
  it("is 64 MiB for 90,000 payments that wait in memory, fewer than `maxEvents`", () => {
    expect(text).toContain("some 90,000 payments in 64 MiB");
    expect(Math.round((64 * MIB) / heapSizeOf(sample("payment")) / 10_000)).toBe(9);
  });

  it("is a GiB for 1 to 1.5 million payments that wait", async () => {
    const mib = 8;
    const disk = diskOf({ maxBytes: mib * MIB });
    let waiting = 0;
    const report = () => appending(sample("payment"));
    for (let results: unknown[] = ["queued"]; results.every((result) => result === "queued"); ) {
      results = [...(await disk.run(...Array.from({ length: 200 }, report))).results];
      waiting += results.filter((result) => result === "queued").length;
    }
    expect(text).toContain("1 to 1.5 million per GiB");
    expect((waiting / mib) * 1024).toBeGreaterThan(1e6);
    expect((waiting / mib) * 1024).toBeLessThan(1.5e6);
  });

  it("is a third of a file at most for dead letters, however small they are: live events have their half", async () => {
    expect(textOf("docs/outboxes.md")).toContain("Dead letters take a third at most");
    const clicksIn = async (disk: Disk) => {
      while ((await disk.append(sample("click")))[0] === "queued");
      return (await disk.counts()).byKind?.click.queued ?? 0;
    };
    const [empty, other] = [diskOf({ maxBytes: MIB }), diskOf({ maxBytes: MIB, maxDeadLetters: 10_000 })];
    for (let nth = 0; nth < 10; nth++) {
      await other.append(...someOf("payment", 100));
      await settleAll(other, REJECTED);
    }
    expect((await clicksIn(other)) / (await clicksIn(empty))).toBeCloseTo(0.5, 1);
  });
});
