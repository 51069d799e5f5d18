import type { Outbox } from "../../../src/index.js";

export interface Names {
  readonly redisOutbox: (options: { prefix: string }) => Outbox;
}
