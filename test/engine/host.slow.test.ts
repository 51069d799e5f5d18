import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { inlineForEsbuild } from "../../inline-plugin.js";
import { fixture } from "../helpers/fixture.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startService } from "../helpers/service.js";

const startHost = fixture("engine", [inlineForEsbuild]);
// Longer than a lease, after which other processes would take a silent one for dead.
const BLOCKED_MS = 30_000;
// Six of them are under way at a time.
const PAYMENTS = 24;
const ANSWERS_AFTER_MS = 6_500;

test("a host whose event loop stands still for 30 s loses nothing, and has nothing in doubt", async () => {
  const directory = scratchDirectory();
  const goOn = join(scratchDirectory(), "go-on");
  const service = await startService((_request, res) => {
    res.setHeader("content-type", "application/json");
    setTimeout(() => res.end('{"success":true,"leadId":1}'), ANSWERS_AFTER_MS);
    return undefined;
  });
  const host = startHost([{ baseUrl: service.url, directory, payments: PAYMENTS, until: goOn }]);
  expect(await host.next()).toEqual(Array(PAYMENTS).fill("queued"));

  await sleep(BLOCKED_MS);
  expect(service.posted).toHaveLength(PAYMENTS);
  writeFileSync(goOn, "");

  const { stats } = await host.next();
  expect(stats).toMatchObject({ delivered: PAYMENTS, queued: 0, inFlight: 0, dead: { unconfirmed: 0 } });
  expect(new Set(service.posted.map(({ headers }) => headers["idempotency-key"])).size).toBe(PAYMENTS);
  expect(await host.over).toMatchObject({ code: 0, stderr: "" });
}, 60_000);
