// Under CI, the same commit tries the same random values each time: `PROPERTY_SEED` of vitest.config.ts.
export const { PROPERTY_SEED } = process.env;
if (PROPERTY_SEED) {
  const { default: fc } = await import("fast-check");
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(PROPERTY_SEED) });
}
