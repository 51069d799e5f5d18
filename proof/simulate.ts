/**
 * `npm run proof simulate -- --seed 1 --schedules 10000`
 *
 * The whole tracker in virtual time: delivery, journal, relay, outbox (in memory; the disk outbox with its thread's own script and
 * real SQLite; or, where `--outbox` names it, the outbox in a PostgreSQL or MariaDB server that is started for it), several processes
 * and two destinations on one directory or on the same tables. A seed gives a schedule: a list of steps. Hosts report, repeat reports
 * and flood; the service fails in every way of faults.ts, for some endpoints, visitors or requests; processes are killed, stand
 * still, close and start again; threads end; disks are full, locked, slow or lose their answers; the clock is set; operators retry
 * and discard dead letters, and cancel payments that wait for their `notBefore`.
 *
 * Of a database: the server is away, silent, slow, full, read-only, or has too many clients; it cuts connections before or after a
 * statement took effect, ends deadlocks, and is started again; a host has all connections of its pool, or a transaction of its own
 * open, in which it reports. Statements run on the real server while virtual time stands still; a statement that waits for a lock
 * waits in virtual time.
 *
 * As each thing happens it is compared with what is promised:
 *
 * - a visitor's events go in order and one at a time; what has ended is not sent; every attempt says the same (checks.ts);
 * - a payment that may have been taken is held, and is taken once;
 * - an event ends once; a duplicate is recognised, and nothing else is called one; receipts are there within 1 s (accounts.ts);
 * - `stats()` adds up; no process makes more attempts at once than allowed;
 * - on disk, what was reported is not lost when its process is killed in the same moment, unless its spool file could not be written;
 * - no payment is sent before its `notBefore`, and none that was cancelled (checks.ts, steps.ts);
 * - once all faults have ended, everything accepted is delivered, dead, or counted as dropped, skipped or discarded;
 * - no visitor waits for another, payments go first, no crowd of strangers delays a payment or what it waits for, and what waited is
 *   soon sent, where a schedule is made for it (waits.ts).
 *
 * What breaks is printed with its seed, and with the fewest steps that break it. `--seed N --schedules 1 --trace` runs one seed
 * again, and prints all that happens in it. `--outbox memory|disk|mysql|postgres` runs that outbox alone, `--programs 1` one destination.
 * Exits with 1 where a promise is broken.
 */
import { parseArgs } from "node:util";
import { simulate } from "./simulate/main.js";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    schedules: { type: "string", default: "1000" },
    outbox: { type: "string" },
    programs: { type: "string", default: "2" },
    trace: { type: "boolean", default: false },
  },
});
const { outbox } = values;
if (outbox !== undefined && !isOutbox(outbox)) {
  throw new Error(`--outbox must be memory, disk, mysql or postgres, got ${outbox}`);
}

const { schedules, steps, tasks, events, findings } = await simulate({
  seed: numberOf("seed"),
  schedules: numberOf("schedules"),
  programs: numberOf("programs"),
  outbox,
  print: console.log,
});
if (values.trace) for (const { trace } of findings) console.log(`\n${trace.join("\n")}`);
const { user, system } = process.cpuUsage();
console.log(
  `${schedules} schedules, ${steps} steps of theirs and ${tasks} turns of event loops, ${events} events ` +
    `in ${Math.round((user + system) / 1e6)} s of processor time: ${findings.length} broken`,
);
process.exitCode = findings.length > 0 ? 1 : 0;

function isOutbox(word: string): word is "memory" | "disk" | "mysql" | "postgres" {
  return ["memory", "disk", "mysql", "postgres"].includes(word);
}

function numberOf(name: "seed" | "schedules" | "programs"): number {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`--${name} must be a positive integer, got ${values[name]}`);
}
