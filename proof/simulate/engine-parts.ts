import {
  createDelivery as create,
  type Delivery,
  type DeliveryOptions,
} from "../../src/delivery/delivery.js";
import { hostOf } from "./host.js";
import { theClock } from "./machine.js";

export { createTransport } from "./transport.js";

/** Replaces the parts of src/engine/engine.ts in a host's thread. */
export function createDelivery(options: DeliveryOptions): Delivery {
  // The ledger knows events by their ids.
  return adapted(create({ ...options, keyOf: ({ id }) => id, random: hostOf(theClock().current).random }));
}

/** With the bug that a test has planted. */
export function adapted(delivery: Delivery): Delivery {
  hostOf(theClock().current).sabotage?.(delivery);
  return delivery;
}
