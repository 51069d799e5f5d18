import { type EventKind, memoryOutbox, type Outbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { kindFrom, open, startServer, UNFLUSHED } from "../outboxes/server.js";
import { type Figure, figuresOf, type Row, secondsUntil } from "../shared/figures.js";
import type { Part } from "../shared/part.js";
import { startReporter } from "../shared/reporter.js";
import { scratch } from "../shared/scratch.js";
import { type Conduct, startService, wellAfter } from "../shared/service.js";
import { inTurn } from "../shared/turn.js";
import { conducts } from "./faults/conducts.js";

const VISITORS = 40;
const FAILS_FOR_S = 10;
const PATIENCE_S = 60;
/** One more than the attempts at once. */
const MOST_HELD = 9;

interface Opened {
  readonly outbox: Outbox;
  end?(): Promise<void>;
}

const LOCAL: Readonly<Record<string, () => Opened>> = {
  memory: () => ({ outbox: memoryOutbox() }),
  disk: () => ({ outbox: diskOutbox({ directory: scratch() }) }),
};
const SERVERS = Object.keys(UNFLUSHED);

export default {
  title: "a service that fails in each of its ways, on real sockets, with each outbox",
  async prove({ short }) {
    const inShort = [inTurn("outbox", Object.keys(LOCAL)), inTurn("outbox on a server", SERVERS)];
    const names = short ? inShort : [...Object.keys(LOCAL), ...SERVERS];
    const figures: Figure[] = [];
    for (const name of names) {
      const { create, destroy } = await outboxesOf(name);
      const ways = Object.keys(conducts).map((way, nth) =>
        prove(`${name}: ${way}`, conducts[way], create(nth)),
      );
      figures.push(...(await Promise.all(ways)).flat());
      await destroy?.();
    }
    return figures;
  },
} satisfies Part;

/** Makes the outboxes of the different ways: each is apart from the others. */
async function outboxesOf(name: string) {
  const local = LOCAL[name];
  if (local) return { create: local };
  const kind = kindFrom(name);
  const { uri, destroy } = await startServer(kind, UNFLUSHED[kind]);
  return {
    create: (nth: number): Opened => open(kind, uri, { name: `way_${nth}`, connections: 4 }),
    destroy,
  };
}

/**
 * Visitors click and sign up while the service is well, pay while it fails in one way, and pay when
 * it is well again. All arrives in order; a payment that may have been taken is held.
 */
async function prove(name: string, fails: Conduct | undefined, { outbox, end }: Opened): Promise<Figure[]> {
  let conduct = wellAfter(20);
  const service = await startService((...request) => conduct(...request));
  const reporter = startReporter(service.url, { outbox });
  let ended = 0;
  // By the notices, not by stats(): what an SQL server counts while others write is not exact.
  reporter.tracker.on("delivered", () => ended++);
  reporter.tracker.on("dead", () => ended++);

  async function eachReports(...kinds: readonly EventKind[]): Promise<void> {
    for (const kind of kinds) {
      for (let visitor = 0; visitor < VISITORS; visitor++) {
        await reporter.report(kind, `visitor-${visitor}`, reporter.receipts.length + 1);
      }
    }
  }
  const settled = (withinS: number) => secondsUntil(() => ended >= reporter.receipts.length, withinS);

  await eachReports("click", "registration");
  await settled(PATIENCE_S);
  if (fails) conduct = fails;
  else await service.goAway();
  const began = performance.now();
  await eachReports("payment", "payment");
  await settled(FAILS_FOR_S);
  // Requests that it left hanging end with the failure.
  if (name.includes("hangs")) service.hangUp();
  conduct = wellAfter(20);
  await service.comeBack();
  const failedForS = (performance.now() - began) / 1_000;
  await eachReports("payment", "payment");
  await settled(4 * failedForS + PATIENCE_S);
  await outbox.look();
  const [events, ...counts] = (await reporter.end(service, { atMost: MOST_HELD })) as [Row, ...Row[]];
  await end?.();
  // Of what has an upper bound, what there is.
  const seen = counts.filter(([, measured]) => measured > 0);
  return figuresOf(name, ["requests", service.requests], events, ...seen);
}
