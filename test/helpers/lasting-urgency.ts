import type { Outbox } from "express-affiliate";
import { expect, it } from "vitest";
import { fill } from "../contract/bounds.js";
import { sample, signingUp } from "../contract/samples.js";
import { Stage } from "../contract/stage.js";

/**
 * What docs/delivery.md says of our own outboxes, and the contract demands of none: urgency does
 * not fall.
 */
export function testLastingUrgency(createSmall: () => Outbox | Promise<Outbox>): void {
  it("keeps a click as urgent as the registration behind it was, once that is shed", async () => {
    await using stage = await Stage.open(createSmall);
    const { delivery, outbox } = stage;
    const [click, registration] = signingUp();
    stage.hold();
    await stage.add(sample("click"), click, registration);
    delivery.lanes = [{ endpoint: "click", limit: 1 }];
    delivery.capacity = 1;
    outbox.wake();
    const first = await delivery.next();
    expect(first.live).toMatchObject({ event: click, urgency: "registration" });

    await fill(outbox, "payment");
    await expect.poll(() => delivery.dropped.map(({ event }) => event.id)).toContain(registration.id);
    first.settle({ type: "release" });

    expect((await delivery.next()).live).toMatchObject({ event: click, urgency: "registration" });
  });
}
