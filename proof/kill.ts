/**
 * `npm run proof kill -- --rounds 50`
 *
 * Hosts that share one directory report events, and are killed with SIGKILL at a random moment,
 * again and again. No event may be lost that was acknowledged, and no payment whose visitor has got a
 * response. A payment may be held if a kill came in the middle of its delivery: then it cannot be
 * known whether the service has it. Exits with 1 if one is lost, or if one arrives twice.
 */
import { runHost } from "./kill/host.js";
import { answered, awaited, proveKills } from "./kill/rounds.js";
import { commandLine } from "./shared/options.js";

const {
  options: { rounds },
  words: [host],
} = commandLine({ rounds: 6 });

if (host) await runHost(JSON.parse(host));
else {
  console.log(`Node ${process.version}`);
  const results = [await proveKills(awaited, rounds), await proveKills(answered, rounds)];
  process.exitCode = results.every(Boolean) ? 0 : 1;
}
