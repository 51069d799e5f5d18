/**
 * `npm run proof kill -- --rounds 50`
 *
 * Hosts that share one directory report events, and are killed with SIGKILL at a random moment,
 * again and again. No event may be lost that was acknowledged (awaited.ts), and no payment whose
 * visitor has got a response (answered.ts). A payment may be held if a kill came in the middle of
 * its delivery: then it cannot be known whether the service has it. Exits with 1 if one is lost, or
 * if one arrives twice.
 */
import { proveAnswered } from "./kill/answered.js";
import { proveAwaited } from "./kill/awaited.js";
import { runHost } from "./kill/host.js";
import { commandLine } from "./shared/options.js";

const {
  options: { rounds },
  words: [host],
} = commandLine({ rounds: 4 });

if (host) await runHost(JSON.parse(host));
else {
  console.log(`Node ${process.version}`);
  const results = [await proveAwaited(rounds), await proveAnswered(rounds)];
  process.exitCode = results.every(Boolean) ? 0 : 1;
}
