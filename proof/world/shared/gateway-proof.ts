import { setTimeout as sleep } from "node:timers/promises";
import { diskOutbox } from "express-affiliate/disk";
import { scratch } from "../../shared/scratch.js";
import { answer, type Service, startService } from "../../shared/service.js";
import { keyOf, trackerOf } from "../../shared/tracker.js";
import type { StartGateway } from "../programs/gateway.js";
import { type Figure, figuresOf } from "./part.js";
import { fateOf, paymentOf } from "./payments.js";

const CONCURRENCY = 8;
const PAYMENTS_A_SECOND = 20;

interface Scene {
  readonly service: Service;
  /** Whether the service records the nth payment and closes without an answer. */
  losesAnswer: (nth: number) => boolean;
  /** Reports payments, each of its own visitor, and as many clicks, for so long. */
  report(seconds: number): Promise<void>;
}

/** What a service does behind the gateway, and how soon after it all that waited has gone. */
interface Scenario {
  readonly name: string;
  readonly recoversWithinSeconds: number;
  readonly mostHeld: number;
  run(scene: Scene): Promise<void>;
}

/** Payments and clicks go from the disk outbox through a gateway to a service that fails. */
export async function proveGateway(start: StartGateway, { short }: { short: boolean }): Promise<Figure[]> {
  const downSeconds = short ? 10 : 60;
  const scenarios: readonly Scenario[] = [
    {
      name: `down for ${downSeconds} s`,
      recoversWithinSeconds: Math.max(2, downSeconds / 10) + downSeconds * PAYMENTS_A_SECOND * 2 * 0.01,
      mostHeld: CONCURRENCY,
      async run({ service, report }) {
        await service.goAway();
        await report(downSeconds);
        await service.comeBack();
      },
    },
    {
      name: "records payments and closes, for 10 s",
      // If the rest is answered, payments are tried again after 45 s.
      recoversWithinSeconds: 60,
      mostHeld: CONCURRENCY,
      async run(scene) {
        scene.losesAnswer = () => true;
        await scene.report(10);
        scene.losesAnswer = () => false;
      },
    },
    {
      name: "records each tenth payment and closes",
      recoversWithinSeconds: 60,
      mostHeld: 20,
      async run(scene) {
        scene.losesAnswer = (nth) => nth % 10 === 0;
        await scene.report(200 / PAYMENTS_A_SECOND);
      },
    },
  ];
  return (await Promise.all(scenarios.map((scenario) => prove(scenario, start)))).flat();
}

async function prove(scenario: Scenario, start: StartGateway): Promise<Figure[]> {
  let arrived = 0;
  const service = await startService((res, take, { isPayment }) => {
    take();
    if (isPayment && scene.losesAnswer(++arrived)) res.req.socket.destroy();
    else answer(res);
  });
  const gateway = await start(service.port);
  const tracker = trackerOf(gateway.url, {
    outbox: diskOutbox({ directory: scratch() }),
    delivery: { concurrency: CONCURRENCY },
  });
  const scene: Scene = { service, losesAnswer: () => false, report };
  const payments = new Set<string>();
  let visitors = 0;

  async function report(seconds: number): Promise<void> {
    for (let n = 0; n < seconds * PAYMENTS_A_SECOND; n++) {
      const number = visitors++;
      const receipt = await tracker.trackPayment(...paymentOf(number));
      if (receipt.outcome === "queued") payments.add(keyOf(receipt.id));
      await tracker.trackClick({ affiliateReference: "ANNA" }, { sessionId: `visitor-${number}` });
      await sleep(1_000 / PAYMENTS_A_SECOND);
    }
  }

  await report(1);
  await scenario.run(scene);
  const began = performance.now();
  while (tracker.stats().queued > 0 && performance.now() - began < 300_000) await sleep(20);
  const seconds = (performance.now() - began) / 1_000;

  const held = await tracker.deadLetters.list({ limit: 1_000, reason: "unconfirmed" });
  const { lost, twice } = fateOf([...payments], service, held);
  await tracker.close();
  await gateway.stop();
  await service.goAway();

  const { name, mostHeld, recoversWithinSeconds: atMost } = scenario;
  return figuresOf(
    name,
    ["payments", payments.size],
    ["lost", lost, { atMost: 0 }],
    ["recorded twice", twice, { atMost: 0 }],
    ["held", held.length, { atMost: mostHeld }],
    ["all that waited has gone after", Math.round(seconds * 10) / 10, { unit: "s", atMost }],
  );
}
