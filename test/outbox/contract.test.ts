import { describe, it } from "vitest";
import { memoryOutbox } from "../../src/outbox/memory.js";
import { testOutbox } from "../../src/testing/index.js";

testOutbox(
  "memoryOutbox",
  { create: () => memoryOutbox(), createSmall: () => memoryOutbox({ maxEvents: 100 }) },
  { describe, it },
);
