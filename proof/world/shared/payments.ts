import { type Service, timesOf } from "../../shared/service.js";
import { keyOf } from "../../shared/tracker.js";

/** The nth payment, of a visitor of its own. */
export const paymentOf = (nth: number) =>
  [
    { paymentId: nth, customerEmail: "ann@shop.example", leadValue: 1 },
    { sessionId: `payer-${nth}` },
  ] as const;

/**
 * How many payments neither reached the service nor are held, and how many reached it twice.
 *
 * @param keys of the payments; `undefined` for one that got no id.
 */
export function fateOf(
  keys: readonly (string | undefined)[],
  { arrivals }: Service,
  held: readonly { readonly id: string }[],
): { lost: number; twice: number } {
  const times = timesOf(arrivals.filter(({ isPayment }) => isPayment));
  const known = new Set([...times.keys(), ...held.map(({ id }) => keyOf(id))]);
  return {
    lost: keys.filter((key = "") => !known.has(key)).length,
    twice: [...times.values()].filter((number) => number > 1).length,
  };
}
