/**
 * `npm run proof fuzz -- --requests 100000 --seconds 120 --seed 1`
 *
 * Strangers' requests and bodies for a host that hands over to the package whatever comes: hostile
 * queries, cookies, headers, JSON, and what is not HTTP. None is answered by an error of ours, none
 * makes an event that is not well-formed, a log line of more than one line, a public response with
 * cookies, or the event loop stand still. Stops when the time is up, and says how far it came. Exits
 * with 1 if that is not so, with the seed to repeat it.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { problemsWithAnswer } from "./fuzz/checks.js";
import { type HostReport, runHost } from "./fuzz/host.js";
import { garbage, type StrangersRequest, strangersRequest } from "./fuzz/strangers.js";
import { commandLine } from "./shared/options.js";
import { numbersFrom } from "./simulate/random.js";

const AT_ONCE = 32;
const LONGEST_BLOCK_MS = 250;

const { options, words } = commandLine({ requests: 100_000, seconds: 120, seed: 1 + (Date.now() % 1e9) });

if (words[0] === "host") await runHost();
else process.exitCode = (await prove(options)) ? 0 : 1;

async function prove({ requests, seconds, seed }: typeof options): Promise<boolean> {
  const host = fork(fileURLToPath(import.meta.url), ["host"]);
  const [address] = (await once(host, "message")) as [string];
  const died = once(host, "exit").then(([code]) => [
    { problems: [`the host died: ${code}`], events: 0, longestBlockMs: 0 },
  ]);
  const random = numbersFrom(seed);
  const problems = new Set<string>();
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const deadline = performance.now() + seconds * 1_000;
  let sent = 0;

  async function stranger(): Promise<void> {
    while (sent < requests && performance.now() < deadline && host.exitCode === null) {
      sent++;
      if (random() < 0.01) await sendGarbage(address, garbage(random));
      else for (const problem of await send(address, strangersRequest(random), agent)) problems.add(problem);
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, stranger));
  agent.destroy();

  if (host.connected) host.send("end");
  const [report] = (await Promise.race([once(host, "message"), died])) as [HostReport];
  for (const problem of report.problems) problems.add(problem);
  if (report.longestBlockMs > LONGEST_BLOCK_MS)
    problems.add(`the event loop was kept busy for ${report.longestBlockMs} ms`);
  if (report.events < sent / 200)
    problems.add(`only ${report.events} events: the strangers were refused at the door`);
  for (const problem of [...problems].slice(0, 20)) console.log(problem);
  console.log(
    `Node ${process.version}, seed ${seed}: ${sent} of ${requests} requests, ${report.events} events, event loop at most ${report.longestBlockMs} ms busy, ${problems.size} problems`,
  );
  return problems.size === 0;
}

async function send(
  address: string,
  { method, path, headers, body }: StrangersRequest,
  agent: Agent,
): Promise<string[]> {
  const said = JSON.stringify({ method, path, headers, body }).slice(0, 2_000);
  return new Promise((resolve) => {
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const req = request(new URL(address), { method, path, headers: { ...headers, ...length }, agent });
    // After what was no request the server closes the connection, and the next one on it fails.
    req.on("error", ({ code = "", message }: NodeJS.ErrnoException) =>
      resolve(["ECONNRESET", "EPIPE"].includes(code) ? [] : [`${message}: ${said}`]),
    );
    req.on("response", (res: IncomingMessage) => {
      res.resume();
      res.on("end", () => resolve(problemsWithAnswer(res, said, headers.purpose === "prefetch")));
      res.on("error", () => resolve([`the answer broke off: ${said}`]));
    });
    req.end(body);
  });
}

function sendGarbage(address: string, bytes: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(address).port), "127.0.0.1", () => socket.end(bytes, "latin1"));
    socket.resume().on("error", () => {});
    socket.on("close", () => resolve());
  });
}
