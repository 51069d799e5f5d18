import { describe, it } from "vitest";
import * as mapOutbox from "../../docs/outboxes/map-outbox.js";
import { textOf } from "../helpers/docs/pages.js";
import { runBlock } from "../helpers/docs/run.js";

describe("docs/outboxes.md: an outbox of one's own", async () => {
  // Its call of `testOutbox`: its tests become tests here.
  const file = "docs/outboxes/map-outbox.test.ts";
  const block = { page: file, heading: "", line: 1, info: "ts", code: textOf(file) };
  await runBlock(block, {}, { modules: { "node:test": { describe, it }, "./map-outbox.js": mapOutbox } });
});
