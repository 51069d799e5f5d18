import { setImmediate } from "../../shared/real-timers.js";

interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Makes one call of many: what is asked for while a call is under way, or in one turn of the event loop, goes in the next.
 *
 * @param call resolves to the results in the order of the items; what it rejects with, all of them reject with.
 * @param max how many items go in one call.
 */
export function inBatches<Item, Result>(
  call: (items: readonly Item[]) => Promise<readonly Result[]>,
  max: number,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let isBusy = false;

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, max);
      try {
        const results = await call(batch.map(({ item }) => item));
        for (const [nth, { resolve }] of batch.entries()) resolve(results[nth] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
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
