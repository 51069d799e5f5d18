import { setTimeout as sleep } from "node:timers/promises";
import { type Kind, open, startServer } from "../outboxes/server.js";
import { type Figure, figures } from "../shared/figures.js";
import type { Part } from "../shared/part.js";
import { startService, wellAfter } from "../shared/service.js";
import { trackerOf, trackNth } from "../shared/tracker.js";
import { inTurn } from "../shared/turn.js";

const EVENTS_A_SECOND = 20;
const SECONDS_BEFORE = 20;
const KINDS: readonly Kind[] = ["postgres", "mysql"];

/** A statement that sees what there is when it begins, until it ends so many seconds later. */
const HOLD_SNAPSHOT: Readonly<Record<Kind, (seconds: number) => string>> = {
  postgres: (seconds) =>
    `select pg_sleep(${seconds}) from (select count(*) from affiliate.events) as all_events`,
  mysql: (seconds) =>
    `select sleep(${seconds}) from (select count(*) as number from affiliate_events) as all_events`,
};

export default {
  title: `another session holds a snapshot, as a dump does, while ${EVENTS_A_SECOND} events a second are reported`,
  async prove({ short }) {
    const kinds = short ? [inTurn("server", KINDS)] : KINDS;
    const all: Figure[] = [];
    for (const kind of kinds) all.push(...(await prove(kind, short ? 1 : 5)));
    return all;
  },
} satisfies Part;

async function prove(kind: Kind, minutes: number): Promise<Figure[]> {
  const server = await startServer(kind);
  const service = await startService(wellAfter(20));
  const { outbox, end } = open(kind, server.uri);
  const another = open(kind, server.uri, { migrate: false });
  const tracker = trackerOf(service.url, { outbox, logger: { warn() {}, error: console.error } });
  const reporting = new AbortController();
  const reports = report(reporting.signal);
  await sleep(5_000);

  const before = await deliveredASecond(SECONDS_BEFORE);
  const held = another.sql(HOLD_SNAPSHOT[kind](60 * minutes));
  const during: number[] = [];
  for (let minute = 1; minute <= minutes; minute++) during.push(await deliveredASecond(60));
  await held;
  reporting.abort();
  await reports;
  await tracker.close();
  await Promise.all([end(), another.end()]);
  await service.goAway();
  await server.destroy();
  return figures(
    [`${kind}: delivered a second, before`, before],
    ...during.map(
      (rate, nth) =>
        [`${kind}: delivered a second, minute ${nth + 1}`, rate, { atLeast: 0.8 * before }] as const,
    ),
  );

  async function report(signal: AbortSignal): Promise<void> {
    const began = performance.now();
    for (let nth = 0; !signal.aborted; nth++) {
      void trackNth(tracker, nth % 2 === 0 ? "click" : "payment", `visitor-${nth >> 1}`, nth);
      const isAheadMs = (nth / EVENTS_A_SECOND) * 1_000 - (performance.now() - began);
      if (isAheadMs > 0) await sleep(isAheadMs);
    }
  }

  async function deliveredASecond(seconds: number): Promise<number> {
    const { delivered } = tracker.stats();
    await sleep(seconds * 1_000);
    return (tracker.stats().delivered - delivered) / seconds;
  }
}
