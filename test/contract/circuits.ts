import assert from "node:assert/strict";
import type { Circuit, CircuitChange } from "../../src/outbox/circuits.js";
import { DESTINATION } from "./samples.js";
import { onTwoStages, type Stage } from "./stage.js";
import type { Lasting, TestRunner } from "./under-test.js";

const FIRST: Circuit = { since: 1_000, attempts: 1, failed: false, probeAt: 46_000, hurriedAt: 0 };
const SECOND: Circuit = { ...FIRST, attempts: 2, failed: true };

function circuitsOf({ outbox: { circuits } }: Stage) {
  assert.ok(circuits, "the outbox has circuits");
  return {
    read: () => circuits.read(DESTINATION),
    replace: (change: Pick<CircuitChange, "known" | "next">, destination = DESTINATION) =>
      circuits.replace({ destination, endpoint: "lead/payment", ...change }),
  };
}

/** Two processes on one storage. */
export function testCircuits(runner: TestRunner["it"], { create, reopen }: Lasting): void {
  const it = onTwoStages(runner, create, reopen);

  it("a process reads what another one has stored, and the storage's time", async ([first, second]) => {
    const [one, other] = [circuitsOf(first), circuitsOf(second)];
    const before = await other.read();
    assert.deepEqual(before.circuits, {});
    assert.ok(Math.abs(before.now - Date.now()) < 60_000, "the time is in milliseconds since the epoch");

    assert.equal(await one.replace({ known: undefined, next: FIRST }), true);
    assert.deepEqual((await other.read()).circuits, { "lead/payment": FIRST });
    assert.equal(await other.replace({ known: FIRST, next: SECOND }), true);
    assert.deepEqual((await one.read()).circuits, { "lead/payment": SECOND });
    assert.equal(await one.replace({ known: SECOND, next: undefined }), true);
    assert.deepEqual((await other.read()).circuits, {});
  });

  it("a process changes a circuit only if it is as it has read it", async ([first, second]) => {
    const [one, other] = [circuitsOf(first), circuitsOf(second)];
    assert.equal(await one.replace({ known: FIRST, next: SECOND }), false);
    assert.equal(await one.replace({ known: undefined, next: FIRST }), true);

    assert.equal(await other.replace({ known: undefined, next: SECOND }), false);
    assert.equal(await other.replace({ known: SECOND, next: undefined }), false);
    assert.equal(await other.replace({ known: SECOND, next: FIRST }), false);
    assert.deepEqual((await one.read()).circuits, { "lead/payment": FIRST });
  });

  it("of two processes that change a circuit at the same moment, one does", async ([first, second]) => {
    const [one, other] = [circuitsOf(first), circuitsOf(second)];
    await one.replace({ known: undefined, next: FIRST });
    const changed = await Promise.all(
      [one, other].map(({ replace }, nth) => replace({ known: FIRST, next: { ...SECOND, probeAt: nth } })),
    );
    assert.deepEqual(changed.toSorted(), [false, true]);
  });

  it("keeps the circuits of destinations apart", async ([first, second]) => {
    const [one, other] = [circuitsOf(first), circuitsOf(second)];
    await one.replace({ known: undefined, next: FIRST }, 43);
    assert.deepEqual((await other.read()).circuits, {});
  });
}
