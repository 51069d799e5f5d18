import { expect, test } from "vitest";
import { createClaims } from "../../../src/outbox/queue/claims.js";
import { type Database, Scope, USUAL } from "../../../src/outbox/queue/database.js";
import { asciiJson } from "../../../src/outbox/queue/rows.js";
import { ENDPOINTS } from "../../../src/service/endpoints.js";
import { systemClock } from "../../../src/shared/clock.js";
import { sample } from "../../contract/samples.js";

const READY = 20;

/** Claims of a database in which another process takes all of a round but these. */
function claimsBeside(left: readonly number[]) {
  let rounds = 0;
  const rows = Array.from({ length: READY }, (_, nth) => {
    const { id, destination, data, createdAt } = sample("click");
    const queue = {
      visitor: `v${nth}`,
      seq: nth + 1,
      due_at: nth,
      turn: 12,
      state: 1,
      kind: 1,
      interrupted: 0,
    };
    return {
      ...queue,
      id,
      destination,
      data: asciiJson(data),
      history: null,
      created_at: createdAt,
      queued_at: 0,
    };
  });
  const candidates = rows.map(({ seq, visitor, due_at, turn }) => ({
    ...{ step: 0, head: seq, endpoint: ENDPOINTS.indexOf("click") },
    ...{ visitor, due_at, turn },
  }));
  const database = {
    words: { ...USUAL, events: "events", queues: "queues", migrations: "", now: "0" },
    rows: async () => candidates,
    write: async () => 0,
    async transaction(work) {
      const own = left[rounds++] ?? 0;
      const read = async (_: string, visitors: readonly unknown[]) =>
        rows.filter(({ visitor }) => visitors.includes(visitor)).slice(0, own);
      return work({ rows: read as never, write: async () => own });
    },
  } as Partial<Database> as Database;
  const claim = createClaims(database, {
    ...{ worker: "me", scope: new Scope(), leaseMs: 60_000, clock: systemClock, underWay: new Map() },
    ...{ serverClock: { tell() {} } as never, chores: {} as never, giveUp: async () => {} },
  });
  return async () => {
    const lanes = [{ endpoint: "click", limit: 4 }] as const;
    return { claimed: (await claim({ limit: 4, lanes })).length, rounds };
  };
}

test.each([
  { left: [4], claimed: 4, rounds: 1 },
  { left: [1, 3], claimed: 4, rounds: 2 },
  { left: [1, 1, 1, 1], claimed: 2, rounds: 2 },
  { left: [0, 0, 1, 1], claimed: 1, rounds: 3 },
])(
  "a claim that another process is faster than looks on until it has something, and once more: $left",
  async ({ left, ...expected }) => {
    expect(await claimsBeside(left)()).toEqual(expected);
  },
);
