import { setImmediate } from "../../shared/real-timers.js";

interface BatchItem<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Makes one call of many: items that come while a call is under way, or in one tick, go in the
 * next, at most `max`. `call` resolves to results in the items' order. If it rejects, so do
 * its items; with `failTogether`, also those that wait.
 */
export function inBatches<Item, Result>(
  call: (items: readonly Item[]) => Promise<readonly Result[]>,
  { max, failTogether = false }: { max: number; failTogether?: boolean },
): (item: Item) => Promise<Result> {
  const waiting: BatchItem<Item, Result>[] = [];
  let isBusy = false;

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, max);
      try {
        const results = await call(batch.map(({ item }) => item));
        for (const [nth, { resolve }] of batch.entries()) resolve(results[nth] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
        if (failTogether) await failWaiting(error);
      }
    }
    isBusy = false;
  }

  async function failWaiting(error: unknown): Promise<void> {
    for (const { reject } of waiting.splice(0)) reject(error);
    // Let rejected callers run before failing later ones.
    await new Promise((resolve) => setImmediate(resolve));
    for (const { reject } of waiting.splice(0)) reject(error);
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isBusy) return;
      isBusy = true;
      setImmediate(work);
    });
}
