import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { createSandbox } from "express-affiliate/sandbox";
import { freePort } from "../../test/helpers/cluster.js";
import { type Figure, figuresOf } from "../shared/figures.js";
import { scratch } from "../shared/scratch.js";
import { secondsUntil } from "../shared/seconds-until.js";
import type { Gateway } from "../world/programs/gateway.js";
import { type Mode, type ProxyProgram, proxyPrograms } from "./proxy/programs.js";
import { countScene, emailOf, referenceOf, type Visitor } from "./shared/census.js";
import type { Part, Scene } from "./shared/part.js";

const MODES: readonly Mode[] = [
  "allows",
  "answers 403",
  "allows",
  "answers 407",
  "allows",
  "is down",
  "allows",
];
/** This machine's own: a tracker asks no proxy for a loopback address. */
const ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === "IPv4" && !each.internal)?.address;

const VISITORS_A_SECOND = 4;
/** What is under way still asks. After this, docs/delivery.md promises 2 requests a second. */
const SETTLES_MS = 2_000;

export default {
  title: "an outgoing proxy that allows, refuses, dies and comes back",
  async prove({ short }) {
    const parts = await Promise.all(proxyPrograms.map((program) => prove(program, short ? 6 : 30)));
    return { scenes: parts.map(({ scene }) => scene), figures: parts.flatMap(({ figures }) => figures) };
  },
} satisfies Part;

async function prove(program: ProxyProgram, seconds: number): Promise<{ scene: Scene; figures: Figure[] }> {
  if (ADDRESS === undefined) throw new Error("this machine has no address but loopback ones");
  const sandbox = await createSandbox({ host: ADDRESS });
  const port = await freePort();
  const directory = scratch();
  chmodSync(directory, 0o777);
  const log = join(directory, "requests.log");
  writeFileSync(log, "");
  chmodSync(log, 0o666);
  const connects = () => readFileSync(log, "utf8").split(`CONNECT ${ADDRESS}`).length - 1;

  const told: string[] = [];
  const write = (...said: unknown[]) => void told.push(said.join(" "));
  const { url: baseUrl, clientId, apiKey } = sandbox;
  const tracker = affiliate({
    baseUrl,
    clientId,
    apiKey,
    allowInsecure: true,
    proxy: `http://127.0.0.1:${port}`,
    logger: { warn: write, error: write },
    ...(program.name === "squid" && { outbox: diskOutbox({ directory: join(directory, "outbox") }) }),
  });
  const visitors: Visitor[] = [];
  const figures: Figure[] = [];

  async function come(): Promise<void> {
    const nth = visitors.length;
    const email = emailOf(program.name, nth);
    const reference = referenceOf(program.name, `a${nth}`);
    const ids = { clickId: `c${nth}`, sessionId: `s${nth}` };
    visitors.push({ email, clicks: [reference], credited: reference });
    await tracker.trackClick({ affiliateReference: reference }, ids);
    await tracker.trackRegistration({ email, customerId: email }, ids);
    await tracker.trackPayment({ paymentId: nth, customerEmail: email, leadValue: 1 }, ids);
  }
  async function comeFor(ms: number): Promise<void> {
    for (const end = performance.now() + ms; performance.now() < end; ) {
      await come();
      await sleep(1_000 / VISITORS_A_SECOND);
    }
  }
  const isSettled = () => tracker.stats().queued === 0;

  let running: Gateway | undefined;
  for (const mode of MODES) {
    await running?.stop();
    const sinceTold = told.length;
    running = mode === "is down" ? undefined : await program.start(mode, port, log);
    if (mode === "allows") {
      const { delivered } = tracker.stats();
      const first = await secondsUntil(() => tracker.stats().delivered > delivered || isSettled());
      const all = first + (await secondsUntil(isSettled));
      // A pause is tried again after a tenth of its time, 1 s at least.
      const atMost = 2 + seconds / 10;
      figures.push(
        ...figuresOf(
          program.name,
          ["an event that waited got through after", first, { unit: "s", atMost }],
          ["all that waited has gone after", all, { unit: "s" }],
        ),
      );
      await comeFor((seconds * 1_000) / 2);
      // The end of the proxy must cut nothing off.
      await secondsUntil(isSettled);
      continue;
    }
    await comeFor(SETTLES_MS);
    const [before, began] = [connects(), performance.now()];
    await comeFor(seconds * 1_000);
    const tunnels = (connects() - before) / ((performance.now() - began) / 1_000);
    const status = /\d+/.exec(mode)?.[0] ?? "";
    const lines = told.slice(sinceTold).filter((line) => /paused/.test(line) && line.includes(status));
    const found = figuresOf(
      `${program.name}, ${mode}`,
      ["tunnels asked for, a second", tunnels, { atLeast: 0.01, atMost: 2 }],
      ["log lines that say so", lines.length, { atLeast: 1, atMost: 3 }],
      ['stats().state is "paused"', Number(tracker.stats().state === "paused"), { atLeast: 1 }],
    );
    // Nobody counts the tunnels of a proxy that is down.
    figures.push(...(mode === "is down" ? found.slice(1) : found));
  }
  await tracker.flush({ timeoutMs: 60_000 });
  await tracker.close();
  await running?.stop();
  const scene = countScene(program.name, visitors, sandbox.ledger);
  await sandbox.close();
  return { scene, figures };
}
