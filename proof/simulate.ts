/**
 * `npm run proof simulate -- --seed 1 --schedules 10000`
 *
 * The whole tracker in virtual time: delivery, journal, relay, outbox (in memory; the disk outbox
 * with its thread's own script and real SQLite; or, if `--outbox` names it, the outbox in a
 * PostgreSQL or MariaDB server that is started for it), several processes and two destinations on
 * one directory or on the same tables. A seed gives a schedule: a list of steps. Hosts report,
 * repeat reports and flood; the service fails in every way of faults.ts, for some endpoints,
 * visitors or requests; processes are killed, stand still, close and start again; threads end;
 * disks are full, locked, slow or lose their answers; the clock is set; operators retry and discard
 * dead letters, and cancel payments that wait for their `notBefore`. In some schedules, attempts
 * outlast their leases.
 *
 * Of a database: the server is away, silent, slow, full, read-only, or has too many clients; it
 * cuts connections before or after a statement took effect, and ends deadlocks; a host has all
 * connections of its pool, or a transaction of its own open, in which it reports.
 * Statements run on the real server while virtual time stands still; a statement that waits for a
 * lock waits in virtual time.
 *
 * As each thing happens it is compared with what is promised:
 *
 * - a visitor's events go in order and one at a time; what has ended is not sent; every attempt
 *   says the same (checks.ts);
 * - a payment that may have been taken is held, and is taken once;
 * - an event ends once; a duplicate is recognised, and nothing else is called one; receipts are
 *   there within 1 s (accounts.ts);
 * - `stats()` adds up; no process makes more attempts at once than allowed;
 * - on disk, what was reported is not lost when its process is killed in the same moment, unless
 *   its spool file could not be written;
 * - no payment is sent before its `notBefore`, and none that was cancelled (checks.ts, steps.ts);
 * - once all faults have ended, everything accepted is delivered, dead, or counted as dropped,
 *   skipped or discarded;
 * - no visitor waits for another, payments go first, no crowd of strangers delays a payment or what
 *   it waits for, and what waited is soon sent, if a schedule is made for it (waits.ts).
 *
 * What breaks is printed with its seed, and with the fewest steps that break it. `--seed N
 * --schedules 1 --trace` runs one seed again, and prints all that happens in it. `--outbox
 * memory|disk|mysql|postgres` runs that outbox alone, `--programs 1` one destination. Exits with 1
 * if a promise is broken.
 */
import { commandLine } from "./shared/options.js";
import { simulate } from "./simulate/main.js";

const { options } = commandLine({ seed: 1, schedules: 1_000, outbox: "", programs: 2, trace: false });
const outbox = (["memory", "disk", "mysql", "postgres"] as const).find((name) => name === options.outbox);
if (options.outbox !== "" && outbox === undefined) {
  throw new Error(`--outbox must be memory, disk, mysql or postgres, got ${options.outbox}`);
}

const { schedules, steps, tasks, events, findings } = await simulate({
  ...options,
  outbox,
  print: console.log,
});
if (options.trace) for (const { trace } of findings) console.log(`\n${trace.join("\n")}`);
const { user, system } = process.cpuUsage();
console.log(
  `${schedules} schedules, ${steps} steps of theirs and ${tasks} turns of event loops, ${events} events ` +
    `in ${Math.round((user + system) / 1e6)} s of processor time: ${findings.length} broken`,
);
process.exitCode = findings.length > 0 ? 1 : 0;
