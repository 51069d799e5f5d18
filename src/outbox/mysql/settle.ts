import type { OutboxEvent } from "../../conversion/events.js";
import type { Verdict } from "../claim.js";
import { asciiJson } from "../sql/ascii-json.js";
import { inBatches } from "../sql/batch.js";
import type { Counts } from "../sql/counts.js";
import type { OnDeath } from "../sql/eviction.js";
import type { LeasedClaim } from "../sql/leases.js";
import type { Claims } from "./claims.js";
import type { Database } from "./database.js";
import { ascii, binary, due, integer, isOneOf, listOf, NOW } from "./literals.js";
import type { Periods } from "./periods.js";
import { KNOWN } from "./rows.js";
import type { createVisitorQueue } from "./visitor-queue.js";

type Of<Type extends Verdict["type"]> = readonly [LeasedClaim, Verdict & { readonly type: Type }];

const SETTLED_AT_ONCE = 200;

/** A delivery counts from any process; other verdicts from the claim's owner alone. */
export function createSettle(
  database: Database,
  options: {
    queue: ReturnType<typeof createVisitorQueue>;
    claims: Claims;
    periods: Periods;
    counts: Counts;
    onDeath: OnDeath;
  },
): (claim: LeasedClaim, verdict: Verdict) => Promise<boolean> {
  const { queue, claims, periods, counts, onDeath } = options;
  const { prefix, events, eventsBySeq } = database;

  async function deliver(settled: readonly Of<"delivered">[]): Promise<void> {
    const [first] = settled;
    if (!first) return;
    const destination = first[0].event.destination;
    const delivered = await database.write(
      `update ${events} force index (\`${prefix}events_id\`) set ${KNOWN}
       where destination = ${destination} and state <> 'known'
         and id in (${listOf(settled.map(([{ event }]) => binary(event.id)))})`,
    );
    // If another process has delivered one too, the next count corrects the number.
    if (delivered < settled.length) return;
    for (const [{ event }] of settled) counts.add(destination, event.kind, -1);
  }

  /** Resolves to those that were given up: no other process has them. */
  async function giveUp(settled: readonly Of<"dead">[]): Promise<ReadonlySet<number>> {
    if (settled.length === 0) return new Set();
    const deaths = compareSeqs(settled, ({ type: _, ...death }) => ascii(asciiJson(death)));
    // Dead already: the answer to this statement was lost.
    const rows = await database.rows<{ seq: number }>(
      `select seq from ${events}
       where ${isOwn(settled)} or (${isOneOfThese(settled)} and state = 'dead' and death = ${deaths})`,
    );
    const dead = new Set(rows.map(({ seq }) => Number(seq)));
    await database.write(
      `update ${eventsBySeq} set state = 'dead', due_at = ${NOW}, tried = 0, interrupted = 0,
         reason = ${compareSeqs(settled, ({ reason }) => `'${reason}'`)},
         death = ${deaths},
         claimed_by = null
       where ${isOwn(settled)}`,
    );
    for (const [{ seq, event }, verdict] of settled) {
      if (!dead.has(seq)) continue;
      counts.add(event.destination, event.kind, -1);
      onDeath(event, verdict);
    }
    return dead;
  }

  async function rest(settled: readonly Of<"retry">[]): Promise<void> {
    if (settled.length === 0) return;
    await database.write(
      `update ${eventsBySeq} set claimed_by = null, interrupted = 0, tried = 1,
         history = ${compareSeqs(settled, ({ history }) => ascii(asciiJson(history)))},
         ${due(`${NOW} + ${compareSeqs(settled, ({ inMs }) => integer(inMs))}`)}
       where ${isOwn(settled)}`,
    );
  }

  async function release(settled: readonly Of<"release">[]): Promise<void> {
    if (settled.length === 0) return;
    await claims.giveBack(settled.map(([claim]) => claim));
    for (const [{ queuedAt }] of settled) periods.include(queuedAt);
  }

  function isOneOfThese(settled: readonly (readonly [LeasedClaim, Verdict])[]): string {
    return isOneOf(settled.map(([claim]) => claim));
  }

  function isOwn(settled: readonly (readonly [LeasedClaim, Verdict])[]): string {
    return `${isOneOfThese(settled)} and ${claims.isOwn}`;
  }

  const settle = inBatches<readonly [LeasedClaim, Verdict], boolean>(
    async (settled) => {
      const of = <Type extends Verdict["type"]>(type: Type) =>
        settled.filter(([, verdict]) => verdict.type === type) as unknown as Of<Type>[];
      const [delivered, dead] = [of("delivered"), of("dead")];
      const leaving = [...delivered, ...dead].map(([{ event }]): OutboxEvent => event);
      const givenUp = await counts.removing(leaving, async () => {
        await deliver(delivered);
        const died = await giveUp(dead);
        await rest(of("retry"));
        await release(of("release"));
        await queue.advance(
          settled.filter(([, { type }]) => type !== "retry").map(([{ event }]): OutboxEvent => event),
        );
        return died;
      });
      for (const [{ seq }] of settled) claims.underWay.delete(seq);
      return settled.map(([{ seq }, { type }]) => type !== "dead" || givenUp.has(seq));
    },
    { max: SETTLED_AT_ONCE },
  );

  return (claim, verdict) => settle([claim, verdict]);
}

function compareSeqs<Type extends Verdict["type"]>(
  settled: readonly Of<Type>[],
  value: (verdict: Verdict & { readonly type: Type }) => string,
): string {
  return `case seq ${settled.map(([{ seq }, verdict]) => `when ${seq} then ${value(verdict)}`).join(" ")} end`;
}
