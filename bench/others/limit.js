/** Runs so many tasks at a time. The others wait until one has ended, in their order. */
export function createLimit(free) {
  const waiting = [];
  return async (task) => {
    if (free > 0) free--;
    else await new Promise((resolve) => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
