/** Jest's globals, which are Vitest's. */
export interface Names {
  readonly test: typeof import("vitest").test;
  readonly expect: typeof import("vitest").expect;
  readonly beforeAll: typeof import("vitest").beforeAll;
  readonly afterAll: typeof import("vitest").afterAll;
}
