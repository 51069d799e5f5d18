import { setTimeout as sleep } from "node:timers/promises";
import { affiliate, memoryOutbox } from "express-affiliate";
import { payment, visitor } from "./payments.js";
import { scratch } from "./scratch.js";
import { argument, say } from "./task.js";

export type StartUpReport = typeof report;

const { outbox: name, service } = argument as { outbox: "memory" | "disk"; service: string };
const SETTLE_MS = 300;

// The disk outbox is loaded only if it is used, as in a host.
const outbox =
  name === "disk"
    ? (await import("express-affiliate/disk")).diskOutbox({ directory: scratch() })
    : memoryOutbox();
const tracker = affiliate({ baseUrl: service, clientId: 1, outbox });
const delivered = new Promise((resolve) => tracker.on("delivered", resolve));
await tracker.trackPayment(payment(0), visitor(0));
const receiptMs = performance.now();
await delivered;
// What only the start has needed is given back.
globalThis.gc?.();
await sleep(SETTLE_MS);
const report = {
  /** Milliseconds from the process' start until the first receipt is there. */
  receiptMs,
  /** Resident memory once the first event is delivered, in bytes. */
  rss: process.memoryUsage.rss(),
};
say(report);
