import { afterEach, expect, test, vi } from "vitest";

afterEach(() => {
  vi.restoreAllMocks();
  vi.resetModules();
});

test("the sandbox takes Node's own SQLite if there is one", async () => {
  class DatabaseSync {}
  const { openDatabase } = await import("../../src/sandbox/ledger/file.js");
  const builtin = vi.spyOn(process, "getBuiltinModule");
  builtin.mockReturnValue({ DatabaseSync } as never);
  expect(openDatabase(":memory:")).toBeInstanceOf(DatabaseSync);
});

test("the sandbox names the package to install if there is no SQLite at all", async () => {
  vi.resetModules();
  const createRequire = () => () => {
    throw new Error("Cannot find module");
  };
  const builtin = vi.spyOn(process, "getBuiltinModule");
  builtin.mockImplementation(((name: string) =>
    name === "node:module" ? { createRequire } : undefined) as never);
  const { openDatabase } = await import("../../src/sandbox/ledger/file.js");
  expect(() => openDatabase(":memory:")).toThrow("npm install --save-dev @photostructure/sqlite");
});
