import { expect, test } from "vitest";
import { inTurn, turnOf } from "../../proof/shared/turn.js";

const COMMITS = Array.from({ length: 64 }, (_, nth) => `${nth}`.padStart(40, "0"));

test("what a proof shows in short is the same each time a commit is tried; within some commits it is all, and each choice apart", () => {
  const list = ["memory", "disk", "Postgres"];
  const shown = COMMITS.map((commit) => inTurn("outbox", list, commit));
  expect(COMMITS.map((commit) => inTurn("outbox", list, commit))).toEqual(shown);
  expect(new Set(shown)).toEqual(new Set(list));
  const both = COMMITS.map((commit) => turnOf("Node", 2, commit) * 2 + turnOf("Express", 2, commit));
  expect(new Set(both).size).toBe(4);
});
