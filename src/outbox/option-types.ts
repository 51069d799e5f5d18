import * as z from "zod/mini";

export const MIB = 1024 * 1024;

/** For how long ids are kept by default: 30 days. */
export const REMEMBER_MS = 30 * 24 * 60 * 60 * 1_000;

const aPositiveInteger = { error: "must be a positive integer" };
// So that a lease beyond two hours is known to be wrong, and no timer's time is too long.
const LONGEST_LEASE_MS = 3_600_000;
const aLease = { error: "must be a number of milliseconds, at least 1,000 and at most 3,600,000" };

export const positiveInteger = (usual: number) =>
  z._default(z.int(aPositiveInteger).check(z.minimum(1, aPositiveInteger)), usual);

/** Of every durable outbox; `leaseMs` has no default here. */
export const durableOptions = {
  maxDeadLetters: positiveInteger(10_000),
  rememberMs: positiveInteger(REMEMBER_MS),
  leaseMs: z.int(aLease).check(z.minimum(1_000, aLease), z.maximum(LONGEST_LEASE_MS, aLease)),
  maxMemoryBytes: positiveInteger(64 * MIB),
};
