import type { Clock } from "../../shared/clock.js";
import { withPlace } from "../../shared/errors.js";
import { ignore, lend, type PostgresClient, type PostgresPool } from "./pool.js";

const AGAIN_MS = 5_000;
const HEARD_WITHIN_MS = 2_500;
// After so long a standstill, a process has not yet read the notifications that arrived.
const TRIES = 2;

/**
 * Listens for other processes' commits on one connection of the pool, and calls `onHint`. If the
 * connection is lost, it asks for another after a while; meanwhile polling finds the events. If a pooler keeps notifications from arriving, it
 * warns once and gives the connection back, as the returned function does.
 */
export function listen(
  pool: PostgresPool,
  options: { channel: string; onHint: () => void; clock: Clock },
): () => Promise<void> {
  const { channel, onHint, clock } = options;
  let client: PostgresClient | undefined;
  let isListening = false;
  let hasHeard = false;
  let isStopped = false;
  let cancelNext = () => {};

  async function connect(): Promise<void> {
    try {
      const fresh = await lend(pool, lose);
      if (isStopped) {
        fresh.removeListener("error", lose);
        return fresh.release();
      }
      client = fresh;
      client.on("notification", hear);
      await client.query(`listen "${channel}"`);
      isListening = true;
      onHint();
      if (!hasHeard) await call(1);
    } catch (error) {
      lose(error as Error);
    }
  }

  function hear(): void {
    hasHeard = true;
    onHint();
  }

  /** Makes another connection notify this one. */
  async function call(nth: number): Promise<void> {
    const called = client;
    await pool.query({ text: "select pg_notify($1, '')", values: [channel] });
    if (client !== called || hasHeard || isStopped) return;
    cancelNext = clock.after(HEARD_WITHIN_MS, () => {
      if (hasHeard) return;
      if (nth < TRIES) return void call(nth + 1).catch(lose);
      warnOfPooler();
      void stop();
    });
  }

  function lose(error: Error): void {
    if (client) {
      client.removeListener("notification", hear);
      client.removeListener("error", lose);
      // A connection may report its end more than once.
      client.on("error", ignore);
      client.release(error);
      client = undefined;
      isListening = false;
    }
    cancelNext();
    if (!isStopped) cancelNext = clock.after(AGAIN_MS, connect);
  }

  void connect();

  async function stop(): Promise<void> {
    isStopped = true;
    cancelNext();
    const last = client;
    if (!last) return;
    client = undefined;
    last.removeListener("notification", hear);
    try {
      if (!isListening) throw new Error("it was still being set up");
      await last.query(`unlisten "${channel}"`);
      last.removeListener("error", lose);
      last.release();
    } catch (error) {
      last.release(error as Error);
    }
  }

  return stop;
}

// This is the host's configuration, not a failure of the storage: no event waits for it.
function warnOfPooler(): void {
  const code = "ERR_AFFILIATE_POSTGRES_LISTEN";
  const message =
    "postgresOutbox: notifications do not arrive, as behind PgBouncer in transaction mode; it looks for events every `pollMs` instead. Set `listen: false`, or give it a pool that connects to PostgreSQL itself";
  process.emitWarning(withPlace(code, message), { code });
}
