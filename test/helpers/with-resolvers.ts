/** `Promise.withResolvers()`, which Node has from 22 on. */
export function withResolvers<T = void>() {
  let resolve = (_: T) => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
