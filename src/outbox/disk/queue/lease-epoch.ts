import { isWithin, type Moment } from "../../lease.js";

/** Chosen: so many looks in a row without a new heartbeat end another process's lease. */
export const LOOKS = 4;

// Another process takes over no sooner than three quarters of a lease after the last heartbeat that
// it saw.
const SAFE_SHARE = 0.6;

/** A period of unbroken heartbeats. No other process has taken over what was claimed in it. */
export interface LeaseEpoch {
  readonly number: number;
  /** When the lease was last renewed. */
  readonly renewedAt: Moment;
}

/** Whether what was claimed in that epoch is still this process's. */
export function isStillOwned(claimedIn: number, { number, renewedAt }: LeaseEpoch, leaseMs: number): boolean {
  return claimedIn === number && isWithin(leaseMs * SAFE_SHARE, renewedAt);
}
