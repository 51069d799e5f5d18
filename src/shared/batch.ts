import { setImmediate } from "./real-timers.js";

/**
 * Makes one call of many: items that come while a call is under way, or in one tick, go in the
 * next, at most `max`. `call` resolves to results in the items' order. If it rejects, so do its
 * items, and those that wait.
 */
export function inBatches<Item, Result>(
  call: (items: readonly Item[]) => Promise<readonly Result[]>,
  max: number,
): (item: Item) => Promise<Result> {
  const waiting: { item: Item; resolve(result: Result): void; reject(error: unknown): void }[] = [];
  let isBusy = false;

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, max);
      try {
        const results = await call(batch.map(({ item }) => item));
        for (const [nth, { resolve }] of batch.entries()) resolve(results[nth] as Result);
      } catch (error) {
        for (const { reject } of [...batch, ...waiting.splice(0)]) reject(error);
        // Let rejected callers run before failing later ones.
        await new Promise((resolve) => setImmediate(resolve));
        for (const { reject } of waiting.splice(0)) reject(error);
      }
    }
    isBusy = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isBusy) return;
      isBusy = true;
      setImmediate(work);
    });
}
