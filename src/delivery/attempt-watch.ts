import type { Endpoint } from "../service/endpoints.js";
import type { Clock } from "../shared/clock.js";
import type { Finding } from "./finding.js";
import type { SharedCircuits } from "./shared-circuits.js";

/**
 * Tells the other processes when an attempt waits long for its answer, and how the attempt has ended.
 *
 * @param attempt.beganAt when the attempt began, by the monotonic clock.
 * @param attempt.patienceMs after how long without an answer the attempt is slow.
 */
export function watchAttempt(
  circuits: SharedCircuits,
  clock: Pick<Clock, "after">,
  attempt: { readonly endpoint: Endpoint; readonly beganAt: number; readonly patienceMs: number },
) {
  const { endpoint, beganAt, patienceMs } = attempt;
  let isCounted = false;
  const cancel = clock.after(patienceMs, () => {
    isCounted = true;
    circuits.slow(endpoint, beganAt);
  });

  return {
    /** @param isOutage whether this process has paused the endpoint. */
    end(finding: Finding, isOutage: boolean): void {
      cancel();
      if (finding.type === "pass") circuits.passed(endpoint, beganAt);
      else if (finding.type === "failure" && finding.isAmbiguous)
        circuits.failed(endpoint, { beganAt, isCounted, isOutage });
      else circuits.costNothing(endpoint);
    },
  };
}
