import type { OutboxEvent } from "../../events.js";
import type { Verdict } from "../outbox.js";
import { asciiJson } from "../sql/ascii-json.js";
import { inBatches } from "../sql/batch.js";
import type { Counts } from "../sql/counts.js";
import type { OnDeath } from "../sql/eviction.js";
import type { Claims, MysqlClaim } from "./claims.js";
import type { Database } from "./database.js";
import { ascii, binary, due, integer, listOf, NOW } from "./literals.js";
import { KNOWN, RELEASED } from "./rows.js";
import type { Sweep } from "./sweep.js";
import type { createVisitorQueue } from "./visitor-queue.js";

type Of<Type extends Verdict["type"]> = readonly [MysqlClaim, Verdict & { readonly type: Type }];

const SETTLED_AT_ONCE = 200;

/**
 * Acts on verdicts. A delivery counts from any process; any other verdict from the claim's owner alone.
 *
 * @param options.onDeath called for each new dead letter.
 */
export function createSettle(
  database: Database,
  options: {
    prefix: string;
    queue: ReturnType<typeof createVisitorQueue>;
    claims: Claims;
    sweep: Sweep;
    counts: Counts;
    onDeath: OnDeath;
  },
): (claim: MysqlClaim, verdict: Verdict) => Promise<void> {
  const { prefix, queue, claims, sweep, counts, onDeath } = options;
  const events = `\`${prefix}events\``;
  // Else the server may scan a small table, and would wait for the rows of the host's open transactions.
  const eventsBySeq = `${events} force index (primary)`;

  async function deliver(settled: readonly Of<"delivered">[]): Promise<void> {
    const [first] = settled;
    if (!first) return;
    const destination = first[0].event.destination;
    const delivered = await database.write(
      `update ${events} force index (\`${prefix}events_id\`) set ${KNOWN}
       where destination = ${destination} and state <> 'known'
         and id in (${listOf(settled.map(([{ event }]) => binary(event.id)))})`,
    );
    // If another process has delivered one of them too, the next count corrects the number.
    if (delivered < settled.length) return;
    for (const [{ event }] of settled) counts.add(destination, event.kind, -1);
  }

  async function giveUp(settled: readonly Of<"dead">[]): Promise<void> {
    if (settled.length === 0) return;
    const dead = new Set(await own(settled));
    await database.write(
      `update ${eventsBySeq} set state = 'dead', due_at = ${NOW}, tried = 0, interrupted = 0,
         reason = ${compareSeqs(settled, ({ reason }) => `'${reason}'`)},
         death = ${compareSeqs(settled, ({ type: _, ...death }) => ascii(asciiJson(death)))},
         claimed_by = null
       where ${isOwn(settled)}`,
    );
    for (const [{ seq, event }, verdict] of settled) {
      if (!dead.has(seq)) continue;
      counts.add(event.destination, event.kind, -1);
      onDeath(event, verdict);
    }
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
    await database.write(
      `update ${eventsBySeq} set claimed_by = null, ${due(RELEASED)}
       where ${isOwn(settled)}`,
    );
    for (const [{ queuedAt }] of settled) sweep.include(queuedAt);
  }

  const isOwn = (settled: readonly (readonly [MysqlClaim, Verdict])[]) =>
    `seq in (${listOf(settled.map(([{ seq }]) => String(seq)))}) and state = 'queued' and claimed_by = ${claims.self}`;

  async function own(settled: readonly (readonly [MysqlClaim, Verdict])[]): Promise<number[]> {
    const rows = await database.rows<{ seq: number }>(`select seq from ${events} where ${isOwn(settled)}`);
    return rows.map(({ seq }) => Number(seq));
  }

  const settle = inBatches<readonly [MysqlClaim, Verdict], void>(
    async (settled) => {
      const of = <Type extends Verdict["type"]>(type: Type) =>
        settled.filter(([, verdict]) => verdict.type === type) as unknown as Of<Type>[];
      const [delivered, dead] = [of("delivered"), of("dead")];
      const leaving = [...delivered, ...dead].map(([{ event }]): OutboxEvent => event);
      await counts.removing(leaving, async () => {
        await deliver(delivered);
        await giveUp(dead);
        await rest(of("retry"));
        await release(of("release"));
        await queue.advance(
          settled.filter(([, { type }]) => type !== "retry").map(([{ event }]): OutboxEvent => event),
        );
      });
      for (const [{ seq }] of settled) claims.underWay.delete(seq);
      return [];
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
