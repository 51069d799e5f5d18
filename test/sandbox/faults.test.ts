import { once } from "node:events";
import { createServer } from "node:net";
import type { FaultMode } from "express-affiliate/sandbox";
import { expect } from "vitest";
import { sendClick, test } from "./helpers.js";

// The parser's own error has a code in some versions of Node and none in others.
const causeCode = ({ cause }: { cause?: { code?: string; name?: string } }) =>
  cause?.name === "HTTPParserError" ? cause.name : cause?.code;

test("slow: records at once, and answers later", async ({ sandbox }) => {
  await sandbox.fail("slow", { delayMs: 300 });
  const answered = sendClick(sandbox);
  const recorded = sandbox.ledger.waitFor({ kind: "click" }).then(() => "recorded");
  expect(await Promise.race([answered, recorded])).toBe("recorded");
  expect(await answered).toMatchObject({ status: 201 });
});

test.for(["500", "503", "429", "401"] as const)(
  "%s: answers so, and records nothing",
  async (mode, { sandbox }) => {
    await sandbox.fail(mode, { retryAfterSeconds: 7 });
    const { status, headers, body } = await sendClick(sandbox);
    expect(body).toEqual({ error: expect.any(String), message: expect.any(String), status: Number(mode) });
    expect(status).toBe(Number(mode));
    expect(headers.get("retry-after")).toBe(mode === "429" ? "7" : null);
    expect(sandbox.ledger.clicks()).toEqual([]);
    expect(sandbox.ledger.requests()).toMatchObject([{ status, fault: mode }]);
  },
);

test("hang: reads the request, never answers, and records nothing", async ({ sandbox }) => {
  await sandbox.fail("hang");
  const answered = sendClick(sandbox).catch(() => "cut");
  expect(await sandbox.ledger.waitFor({ kind: "request", fault: "hang" })).toMatchObject({ status: null });
  expect(sandbox.ledger.clicks()).toEqual([]);
  await sandbox.close();
  expect(await answered).toBe("cut");
});

test.for<[FaultMode, number]>([
  ["reset", 0],
  ["reset-after", 1],
  ["garbage", 0],
])("answers with no HTTP at all: %s, and records %i clicks", async ([mode, recorded], { sandbox }) => {
  await sandbox.fail(mode);
  const code = await sendClick(sandbox).catch(causeCode);
  expect(code).toBe(mode === "garbage" ? "HTTPParserError" : "ECONNRESET");
  expect(sandbox.ledger.clicks()).toHaveLength(recorded);
  const request = { fault: mode, status: null, response: null, recordedClick: recorded || null };
  expect(sandbox.ledger.requests()).toMatchObject([request]);
});

test("a fault ends by itself when its time is up", async ({ sandbox }) => {
  await sandbox.fail("503", { forMs: 3_000 });
  expect(sandbox.fault).toMatchObject({ mode: "503", until: expect.any(String) });
  expect(await sendClick(sandbox)).toMatchObject({ status: 503 });
  await expect.poll(() => sandbox.fault.mode).toBe("ok");
  expect(await sendClick(sandbox)).toMatchObject({ status: 201 });
});

test("a second fault replaces the first and its end", async ({ sandbox }) => {
  await sandbox.fail("503", { forMs: 60_000 });
  await sandbox.fail("500");
  expect(sandbox.fault).toMatchObject({ mode: "500", until: null });
});

// No timer is so long; no header has fractions.
test.for([
  { mode: "asleep" },
  { mode: "slow", forMs: 3e9 },
  { mode: "slow", delayMs: 3e9 },
  { mode: "429", retryAfterSeconds: 0.5 },
  { mode: "429", retryAfterSeconds: -1 },
])("a fault of %j is refused with those that do exist", async (fault, { sandbox }) => {
  const { mode, ...options } = fault;
  const failing = sandbox.fail(mode as FaultMode, options);
  await expect(failing).rejects.toThrow(`sandbox: there is no fault ${JSON.stringify(fault)}; a fault is `);
  await expect(failing).rejects.toThrow("reset-after");
  expect(sandbox.fault.mode).toBe("ok");
});

test("down: stays, and says so, if another process has taken the port", async ({ sandbox }) => {
  await sandbox.fail("down");
  const { port } = new URL(sandbox.url);
  const other = createServer().listen(Number(port), "127.0.0.1");
  await once(other, "listening");
  await expect(sandbox.fail("ok")).rejects.toThrow(`another process has taken port ${port}`);
  expect(sandbox.fault).toMatchObject({ mode: "down", until: null });
  other.close();
  await once(other, "close");
  await sandbox.fail("ok");
  expect(await sendClick(sandbox)).toMatchObject({ status: 201 });
});

test("the last of several faults in one breath is in force", async ({ sandbox }) => {
  // Its connection stands.
  await sendClick(sandbox);
  await Promise.all([sandbox.fail("down"), sandbox.fail("ok"), sandbox.fail("down")]);
  expect(await sendClick(sandbox).catch(causeCode)).toBe("ECONNREFUSED");
  await Promise.all([sandbox.fail("ok"), sandbox.fail("down"), sandbox.fail("ok")]);
  expect(await sendClick(sandbox, { clickId: "2" })).toMatchObject({ status: 201 });
});

test("a closed sandbox does not open again", async ({ sandbox }) => {
  await sandbox.fail("down");
  await sandbox.close();
  await sandbox.fail("ok");
  expect(await sendClick(sandbox).catch(causeCode)).toBe("ECONNREFUSED");
});
