import { isHeldSince, type Moment } from "../../lease.js";

/** A period of unbroken renewals. No other process has taken over what was claimed in it. */
export interface LeaseEpoch {
  readonly number: number;
  /** When the lease was last renewed. */
  readonly renewedAt: Moment;
}

/** Whether what was claimed in that epoch is still this process's. */
export function isStillOwned(claimedIn: number, { number, renewedAt }: LeaseEpoch, leaseMs: number): boolean {
  return claimedIn === number && isHeldSince(renewedAt, leaseMs);
}
