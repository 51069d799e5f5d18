import { theClock } from "./machine.js";

/** Replaces src/shared/real-timers.ts: virtual time, for the process that calls. */
interface Handle {
  cancel(): void;
  ref(): Handle;
  unref(): Handle;
}

function handleOf(cancel: () => void): Handle {
  const handle: Handle = { cancel, ref: () => handle, unref: () => handle };
  return handle;
}

export function setTimeout<A extends unknown[]>(task: (...args: A) => void, ms = 0, ...args: A): Handle {
  const clock = theClock();
  return handleOf(clock.after(clock.current, ms, () => task(...args)));
}

export function setInterval<A extends unknown[]>(task: (...args: A) => void, ms: number, ...args: A): Handle {
  const clock = theClock();
  const owner = clock.current;
  let cancel = clock.after(owner, ms, tick);
  function tick(): void {
    cancel = clock.after(owner, ms, tick);
    task(...args);
  }
  return handleOf(() => cancel());
}

export function setImmediate<A extends unknown[]>(task: (...args: A) => void, ...args: A): void {
  const clock = theClock();
  clock.soon(clock.current, () => task(...args));
}

export function clearTimeout(handle?: Handle): void {
  handle?.cancel();
}

export const clearInterval = clearTimeout;

export function sleep(
  ms: number,
  _value?: undefined,
  { signal }: { signal?: AbortSignal } = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    function abort(): void {
      timer.cancel();
      reject(signal?.reason);
    }
    signal?.addEventListener("abort", abort);
  });
}

export const monotonic = (): number => theClock().monotonic();
export const now = (): number => theClock().now();
