import { hostOf } from "./host.js";
import { theClock } from "./machine.js";

/** In place of that of `node:crypto`: the same ids each time that a seed is run. */
export const randomUUID = (): string =>
  Math.floor(hostOf(theClock().current).random() * 2 ** 32).toString(16);
