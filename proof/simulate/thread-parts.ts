import {
  createDelivery as create,
  type Delivery,
  type DeliveryOptions,
} from "../../src/delivery/delivery.js";

// The simulation's side of it: see `Worker` in worker-threads.ts.
declare function require(name: "simulated:engine"): typeof import("./engine-parts.js");
const { createTransport, adapted } = require("simulated:engine");

export { createTransport };

/** Replaces the parts of src/engine/engine.ts in an outbox's thread. */
export function createDelivery(options: DeliveryOptions): Delivery {
  return adapted(create({ ...options, keyOf: ({ id }) => id }));
}
