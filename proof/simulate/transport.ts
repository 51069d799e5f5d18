import { type Attempt, HeldBack } from "../../src/service/attempt.js";
import type { Transport } from "../../src/service/transport.js";
import { hostOf } from "./host.js";
import { theClock } from "./machine.js";
import { attemptFrom, type Request } from "./service.js";

const TIMEOUT_MS = 10_000;
const TOLERANCE_MS = 1_000;
const CONNECT_MS = 3;

/** In place of src/service/transport.ts: the same deadlines and refusals, in virtual time. */
export function createTransport(program: string): Transport {
  const clock = theClock();
  const owner = clock.current;
  const { service } = hostOf(owner);
  const underWay = new Set<(error: Error) => void>();

  // As the real one: what has arrived is read first.
  const afterReading = (judge: () => void) => clock.soon(owner, () => clock.soon(owner, judge));

  return {
    prepare() {},
    send(call, { mayLeave = () => true } = {}) {
      return new Promise<Attempt>((resolve) => {
        const deadline = clock.monotonic() + TIMEOUT_MS;
        let request: Request | undefined;
        let ended = false;

        function finish(attempt: Attempt): void {
          if (ended) return;
          ended = true;
          cancelDeadline();
          underWay.delete(stop);
          const hasStoodStill = clock.monotonic() > deadline + TOLERANCE_MS;
          const isUnsent = attempt.type === "no-answer" && !attempt.requestSent;
          const heard =
            isUnsent && hasStoodStill ? { ...attempt, error: heldBack("ERR_STOOD_STILL") } : attempt;
          if (request) {
            request.end = { at: clock.monotonic(), attempt: heard };
            service.observer.ended(request);
          }
          resolve(heard);
        }

        function stop(error: Error): void {
          finish({ type: "no-answer", requestSent: request !== undefined, error });
        }

        function connected(): void {
          if (ended) return;
          if (clock.monotonic() >= deadline) stop(tooLate());
          else if (!mayLeave()) stop(heldBack("ERR_CLAIM_LOST"));
          else request = service.receive({ sender: owner, program }, call, behaviour, finish);
        }

        underWay.add(stop);
        const cancelDeadline = clock.after(owner, TIMEOUT_MS, () => afterReading(() => stop(tooLate())));
        const behaviour = service.meets(call);
        if (behaviour.meaning === "unreachable") {
          clock.after(owner, behaviour.afterMs, () => finish(attemptFrom(behaviour, false)));
        } else {
          clock.after(owner, CONNECT_MS, connected);
        }
      });
    },
    abort() {
      afterReading(() => {
        for (const stop of [...underWay]) stop(heldBack("ERR_ABORTED"));
      });
    },
    async close() {},
  };
}

const heldBack = (code: string): HeldBack => new HeldBack(code, `simulated ${code}`);

const tooLate = (): Error => Object.assign(new Error("simulated deadline"), { code: "ERR_DEADLINE" });
