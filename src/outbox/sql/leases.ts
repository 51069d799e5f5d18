import { kindOfPriority } from "../../conversion/kinds.js";
import type { Clock } from "../../shared/clock.js";
import { type Lane, UNTRIED } from "../claim.js";
import { isWithin, type Moment, momentBy } from "../lease.js";
import type { Urgency } from "../urgency.js";
import type { SqlClaim } from "./dialect.js";
import { type EventRow, eventOf } from "./event-rows.js";

export interface LeasedClaim extends SqlClaim {
  readonly seq: number;
  readonly urgency: Urgency;
  /** When its last claim or renewal was requested; `undefined` once another process has it. */
  leasedSince: Moment | undefined;
}

export interface ClaimRow extends EventRow {
  readonly seq: number | string;
  readonly urgency: number;
  readonly history: string | null;
  readonly interrupted: boolean | number;
  readonly queued_at: number | string;
}

// Chosen: a share of the lease. The rest allows for clocks that do not run alike.
const SAFE_SHARE = 0.9;

/** The claims of this process whose attempts are under way, and their leases. */
export function createLeases<C extends LeasedClaim>({ leaseMs, clock }: { leaseMs: number; clock: Clock }) {
  const underWay = new Map<number, C>();

  return {
    underWay,
    claimOf(row: ClaimRow, destination: number, lane: Lane, since: Moment): LeasedClaim {
      const claimed: LeasedClaim = {
        seq: Number(row.seq),
        event: eventOf(row, destination),
        lane,
        urgency: kindOfPriority(Number(row.urgency)),
        history: row.history === null ? UNTRIED : JSON.parse(row.history),
        interrupted: Number(row.interrupted) === 1,
        queuedAt: Number(row.queued_at),
        leasedSince: since,
        isHeld: () =>
          claimed.leasedSince !== undefined && isWithin(SAFE_SHARE * leaseMs, claimed.leasedSince, clock),
      };
      return claimed;
    },
    /**
     * Renews the leases, and notes which events another process has taken over.
     *
     * @param renewAll resolves to those that are still this process's, each with whether its lease
     * is renewed.
     */
    async renew(renewAll: (claims: readonly C[]) => Promise<ReadonlyMap<number, boolean>>): Promise<void> {
      if (underWay.size === 0) return;
      const since = momentBy(clock);
      const claims = [...underWay.values()];
      const own = await renewAll(claims);
      for (const each of claims) {
        const isRenewed = own.get(each.seq);
        if (isRenewed) each.leasedSince = since;
        else if (isRenewed === undefined) each.leasedSince = undefined;
      }
    },
  };
}
