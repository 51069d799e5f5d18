import { outOfOrderIn, repeatedIn } from "../shared/service.js";
import { keyOf } from "../shared/tracker.js";
import { faults } from "./service.js";
import type { Promised, World } from "./world.js";

const VISITORS = 40;
const FAILS_FOR_MS = 10_000;
const PATIENCE_MS = 60_000;
/** One more than the attempts at once. */
const MOST_HELD = 9;

/**
 * Visitors click and sign up while the service is well, pay while it fails in one way, and pay when
 * it is well again. All arrives in order; a payment that may have been taken is held.
 */
export const ways: readonly Promised[] = Object.entries(faults).map(([name, misbehave]) => ({
  name,
  async run(world) {
    const { service, settings, settled } = world;
    await eachTracks(world, "click", "registration");
    await settled(PATIENCE_MS);
    if (misbehave) settings.fault = () => misbehave;
    else await service.goAway();
    const began = performance.now();
    await eachTracks(world, "payment", "payment");
    await settled(FAILS_FOR_MS);
    // Requests that it left hanging end with the failure.
    if (name.startsWith("hangs")) service.hangUp();
    settings.fault = () => undefined;
    await service.comeBack();
    const failedForMs = performance.now() - began;
    await eachTracks(world, "payment", "payment");
    await settled(4 * failedForMs + PATIENCE_MS);
    return judge(world);
  },
}));

async function eachTracks({ track }: World, ...kinds: readonly ("click" | "registration" | "payment")[]) {
  for (const kind of kinds) {
    for (let visitor = 0; visitor < VISITORS; visitor++) await track(kind, `visitor-${visitor}`);
  }
}

async function judge({ tracker, service: { arrivals }, tracked }: World) {
  const letters = await tracker.deadLetters.list({ limit: 1_000, reason: "unconfirmed" });
  const known = new Set([...arrivals.map(({ key }) => key), ...letters.map(({ id }) => keyOf(id))]);
  const lost = tracked().filter((key) => !known.has(key)).length;
  const paidTwice = repeatedIn(arrivals).filter(({ isPayment }) => isPayment).length;
  const outOfOrder = outOfOrderIn(arrivals);
  return [
    `of ${tracked().length}: lost ${lost}, paid twice ${paidTwice}, out of order ${outOfOrder}, held ${letters.length}`,
    lost + paidTwice + outOfOrder === 0 && letters.length <= MOST_HELD,
  ] as const;
}
