import type { Clock } from "../../shared/clock.js";
import { ignore, type PostgresClient, type PostgresPool } from "./database.js";

const AGAIN_MS = 5_000;

/**
 * Hears of what other processes commit, on one connection of the pool. It is a hint and no more: where the connection is
 * lost, or cannot be had, another is asked for after a while, and nothing is missed but time.
 *
 * @param channel a name that needs no more than quotes.
 * @returns a function that gives the connection back.
 */
export function listen(
  pool: PostgresPool,
  { channel, onHint, clock }: { channel: string; onHint: () => void; clock: Clock },
): () => Promise<void> {
  let client: PostgresClient | undefined;
  let isListening = false;
  let isStopped = false;
  let cancelAgain = () => {};

  async function connect(): Promise<void> {
    try {
      const fresh = await pool.connect();
      if (isStopped) return fresh.release();
      client = fresh;
      client.on("error", lose);
      client.on("notification", onHint);
      await client.query(`listen "${channel}"`);
      isListening = true;
      onHint();
    } catch (error) {
      lose(error as Error);
    }
  }

  function lose(error: Error): void {
    if (client) {
      client.removeListener("notification", onHint);
      client.removeListener("error", lose);
      // It may speak of its end more than once.
      client.on("error", ignore);
      client.release(error);
      client = undefined;
      isListening = false;
    }
    cancelAgain();
    if (!isStopped) cancelAgain = clock.after(AGAIN_MS, connect);
  }

  void connect();

  return async function stop() {
    isStopped = true;
    cancelAgain();
    const last = client;
    if (!last) return;
    client = undefined;
    last.removeListener("notification", onHint);
    try {
      if (!isListening) throw new Error("it was still being set up");
      await last.query(`unlisten "${channel}"`);
      last.removeListener("error", lose);
      last.release();
    } catch (error) {
      last.release(error as Error);
    }
  };
}
