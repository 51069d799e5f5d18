import { type Finding, lineOf, note, well, wrong } from "../finding.js";
import type { OpenOutbox } from "./outbox.js";
import type { Report } from "./report.js";
import { countOf, spanOf } from "./words.js";

// Longer than an outage should last: what docs/observability.md says to be alerted on.
const LONG_MS = 60 * 60 * 1_000;

/** What waits and what was given up, in numbers. */
export async function status(outbox: OpenOutbox): Promise<Report> {
  const { queued, oldest, dead, trouble } = await outbox.look();
  const oldestMs = oldest === null ? null : Math.max(0, Date.now() - oldest);
  const findings = [
    waiting(queued, oldest, oldestMs),
    givenUp(dead),
    ...(trouble === undefined ? [] : [wrong(trouble)]),
  ];
  return {
    isWell: trouble === undefined,
    json: { outbox: outbox.name, queued, oldestMs, dead, trouble: trouble ?? null },
    lines: (terminal) => findings.map((finding) => lineOf(finding, terminal)),
  };
}

function waiting(queued: number, oldest: number | null, oldestMs: number | null): Finding {
  if (oldest === null || oldestMs === null) return well("nothing waits");
  const says = `${countOf(queued, "event")} queued, the oldest for ${spanOf(oldestMs)}, since ${new Date(oldest).toISOString()}`;
  return oldestMs < LONG_MS ? well(says) : note(`${says}: read the log of the host's own process`);
}

function givenUp(dead: Readonly<Record<string, number>>): Finding {
  const reasons = Object.entries(dead).filter(([, count]) => count > 0);
  if (reasons.length === 0) return well("no dead letters");
  const count = reasons.reduce((sum, [, each]) => sum + each, 0);
  return note(
    `${countOf(count, "dead letter")}: ${reasons.map(([reason, each]) => `${each} ${reason}`).join(", ")}`,
  );
}
