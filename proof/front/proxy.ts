import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { affiliate } from "express-affiliate";
import { createSandbox } from "express-affiliate/sandbox";
import { freePort } from "../../test/helpers/cluster.js";
import { type Figure, figuresOf } from "../shared/figures.js";
import { scratch } from "../shared/scratch.js";
import { secondsUntil } from "../shared/seconds-until.js";
import { type Gateway, startGateway } from "../world/programs/gateway.js";
import { countScene, emailOf, referenceOf, type Visitor } from "./shared/census.js";
import type { Part } from "./shared/part.js";

/** What tinyproxy does with a tracker's tunnels, by its configuration. */
const SETTINGS = {
  allows: "",
  "answers 403": "ConnectPort 443",
  "answers 407": "BasicAuth bob secret",
} as const;
const MODES = ["answers 403", "answers 407", "is down"] as const;
const NAME = "tinyproxy";
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
    if (ADDRESS === undefined) throw new Error("this machine has no address but loopback ones");
    const seconds = short ? 6 : 30;
    const sandbox = await createSandbox({ host: ADDRESS });
    const port = await freePort();
    const directory = scratch();
    // It takes a user of its own, who writes here.
    chmodSync(directory, 0o777);
    const log = join(directory, "requests.log");
    writeFileSync(log, "");
    chmodSync(log, 0o666);
    const connects = () => readFileSync(log, "utf8").split(`CONNECT ${ADDRESS}`).length - 1;

    function start(mode: keyof typeof SETTINGS): Promise<Gateway> {
      const configuration = () =>
        `Port ${port}\nListen 127.0.0.1\nLogFile "${log}"\nLogLevel Connect\n${SETTINGS[mode]}\n`;
      const command = (path: string) => ["/usr/bin/tinyproxy", "-d", "-c", path];
      return startGateway("tinyproxy.conf", configuration, command, { port });
    }

    const { url: baseUrl, clientId, apiKey } = sandbox;
    const tracker = affiliate({
      ...{ baseUrl, clientId, apiKey, allowInsecure: true },
      proxy: `http://127.0.0.1:${port}`,
      logger: { warn() {}, error: console.error },
    });
    const visitors: Visitor[] = [];
    const figures: Figure[] = [];

    async function comeFor(ms: number): Promise<void> {
      for (const end = performance.now() + ms; performance.now() < end; ) {
        const nth = visitors.length;
        const email = emailOf(NAME, nth);
        const reference = referenceOf(NAME, `a${nth}`);
        const ids = { clickId: `c${nth}`, sessionId: `s${nth}` };
        visitors.push({ email, clicks: [reference], credited: reference });
        await tracker.trackClick({ affiliateReference: reference }, ids);
        await tracker.trackRegistration({ email, customerId: email }, ids);
        await tracker.trackPayment({ paymentId: nth, customerEmail: email, leadValue: 1 }, ids);
        await sleep(1_000 / VISITORS_A_SECOND);
      }
    }
    const isSettled = () => tracker.stats().queued === 0;

    let running = await start("allows");
    for (const mode of MODES) {
      await comeFor((seconds * 1_000) / 2);
      // The end of the proxy must cut nothing off.
      await secondsUntil(isSettled);
      await running.stop();
      if (mode !== "is down") running = await start(mode);
      await comeFor(SETTLES_MS);
      const [before, began] = [connects(), performance.now()];
      await comeFor(seconds * 1_000);
      const tunnels = (connects() - before) / ((performance.now() - began) / 1_000);
      if (mode !== "is down") await running.stop();

      running = await start("allows");
      const { delivered } = tracker.stats();
      const first = await secondsUntil(() => tracker.stats().delivered > delivered || isSettled());
      const all = first + (await secondsUntil(isSettled));
      const found = figuresOf(
        mode,
        ["tunnels asked for, a second", tunnels, { atLeast: 0.01, atMost: 2 }],
        // A pause is tried again after a tenth of its time, 1 s at least.
        ["an event that waited got through after", first, { unit: "s", atMost: 2 + seconds / 10 }],
        ["all that waited has gone after", all, { unit: "s" }],
      );
      // Nobody counts the tunnels of a proxy that is down.
      figures.push(...(mode === "is down" ? found.slice(1) : found));
    }
    await tracker.flush({ timeoutMs: 60_000 });
    await tracker.close();
    await running.stop();
    const scene = countScene(NAME, visitors, sandbox.ledger);
    await sandbox.close();
    return { scenes: [scene], figures };
  },
} satisfies Part;
