import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createOwnerLocks } from "../../../../src/outbox/disk/file/owner-locks.js";
import { engine } from "../../../helpers/disk-store.js";
import { scratchDirectory } from "../../../helpers/scratch.js";

/** Called once, before the next lock is taken. */
const { meanwhile } = vi.hoisted(() => ({ meanwhile: [] as (() => void)[] }));

vi.mock("../../../../src/outbox/disk/file/sqlite.js", async (original) => {
  const sqlite = await original<typeof import("../../../../src/outbox/disk/file/sqlite.js")>();
  const whenFree: typeof sqlite.whenFree = (attempt, waitMs) => {
    meanwhile.shift()?.();
    return sqlite.whenFree(attempt, waitMs);
  };
  return { ...sqlite, whenFree };
});

test("the disk outbox keeps its lock file if another process removes it before it is locked", () => {
  const path = join(scratchDirectory(), "outbox.db");
  const [one, other] = ["one", "other"].map((owner) => createOwnerLocks(path, { engine, owner }));
  meanwhile.push(() => other?.removeEnded([]));
  one?.acquire();

  expect(existsSync(`${path}.owner-one`)).toBe(true);
  expect(other?.isGone("one")).toBe(false);
  one?.release();
  expect(existsSync(`${path}.owner-one`)).toBe(false);
});
