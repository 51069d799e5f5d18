import { setTimeout as sleep } from "node:timers/promises";
import { diskOutbox } from "express-affiliate/disk";
import { type Figure, figuresOf, secondsUntil } from "../shared/figures.js";
import type { Part } from "../shared/part.js";
import { startReporter } from "../shared/reporter.js";
import { scratch } from "../shared/scratch.js";
import { answer, startService } from "../shared/service.js";
import { type Gateway, startGateway } from "./programs/gateway.js";
import { startNginx } from "./programs/nginx.js";

const CONCURRENCY = 8;
const PAYMENTS_A_SECOND = 20;

/** As its defaults are, with kept connections to the service. */
const nginx = (servicePort: number) => (port: number) =>
  `
  upstream service {
    server 127.0.0.1:${servicePort};
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
`;

const haproxy = (servicePort: number) => (port: number) =>
  `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend in
  bind 127.0.0.1:${port}
  default_backend service
backend service
  server one 127.0.0.1:${servicePort}
`;

const GATEWAYS: Readonly<Record<string, (servicePort: number) => Promise<Gateway>>> = {
  nginx: (servicePort) => startNginx(nginx(servicePort)),
  HAProxy: (servicePort) =>
    startGateway("haproxy.cfg", haproxy(servicePort), (path) => ["/usr/sbin/haproxy", "-db", "-f", path]),
};

/** What a service does behind the gateway, and how soon after it a payment that waited gets through. */
interface Scenario {
  readonly name: string;
  readonly seconds: number;
  readonly isDown?: true;
  /** Whether the service records the nth payment and closes without an answer. */
  losesAnswer?(nth: number): boolean;
  /** By how many seconds it lasted, which on a busy machine is longer. */
  recoversWithin(lasted: number): number;
  readonly mostHeld: number;
}

/** If the rest is answered, payments are tried again after 45 s, or 3.5 times as long. */
const paymentsAgain = (lasted: number) => 15 + Math.max(45, 3.5 * lasted);

const scenarios = (downSeconds: number): readonly Scenario[] => [
  {
    name: `down for ${downSeconds} s`,
    seconds: downSeconds,
    isDown: true,
    recoversWithin: (lasted) => 1 + Math.max(1, lasted / 10),
    mostHeld: CONCURRENCY,
  },
  {
    name: "records payments and closes, for 10 s",
    seconds: 10,
    losesAnswer: () => true,
    recoversWithin: paymentsAgain,
    mostHeld: CONCURRENCY,
  },
  {
    name: "records each tenth payment and closes",
    seconds: 200 / PAYMENTS_A_SECOND,
    losesAnswer: (nth) => nth % 10 === 0,
    recoversWithin: paymentsAgain,
    mostHeld: 20,
  },
];

/** Payments and clicks go from the disk outbox through a gateway to a service that fails. */
async function prove(gatewayName: string, scenario: Scenario): Promise<Figure[]> {
  let arrived = 0;
  const service = await startService((res, take, { isPayment }) => {
    take();
    if (isPayment && losesAnswer(++arrived)) res.req.socket.destroy();
    else answer(res);
  });
  const gateway = (await GATEWAYS[gatewayName]?.(service.port)) as Gateway;
  const reporter = startReporter(gateway.url, {
    outbox: diskOutbox({ directory: scratch() }),
    delivery: { concurrency: CONCURRENCY },
  });
  let losesAnswer = (_nth: number) => false;
  let visitors = 0;

  async function report(seconds: number): Promise<void> {
    for (let n = 0; n < seconds * PAYMENTS_A_SECOND; n++) {
      const number = visitors++;
      await reporter.report("payment", `payer-${number}`);
      await reporter.report("click", `visitor-${number}`);
      await sleep(1_000 / PAYMENTS_A_SECOND);
    }
  }

  const isEmpty = () => reporter.tracker.stats().queued === 0;
  await report(1);
  // A late one of these would be one of the scenario's.
  await secondsUntil(isEmpty);
  const began = performance.now();
  if (scenario.isDown) await service.goAway();
  losesAnswer = scenario.losesAnswer ?? losesAnswer;
  await report(scenario.seconds);
  losesAnswer = () => false;
  await service.comeBack();
  const atMost = scenario.recoversWithin((performance.now() - began) / 1_000);
  const before = arrived;
  const first = await secondsUntil(() => arrived > before || isEmpty());
  const all = first + (await secondsUntil(isEmpty));
  const rows = await reporter.end(service, { atMost: scenario.mostHeld });
  await gateway.stop();
  return figuresOf(
    `${gatewayName}: ${scenario.name}`,
    ...rows,
    ["a payment that waited got through after", first, { unit: "s", atMost }],
    ["all that waited has gone after", all, { unit: "s" }],
  );
}

export default {
  title: "a service behind nginx, and behind HAProxy, which answer for it when it fails",
  async prove({ short }) {
    const figures: Figure[] = [];
    for (const name of Object.keys(GATEWAYS)) {
      const each = scenarios(short ? 10 : 60).map((scenario) => prove(name, scenario));
      figures.push(...(await Promise.all(each)).flat());
    }
    return figures;
  },
} satisfies Part;
