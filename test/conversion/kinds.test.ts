import { expect, test } from "vitest";
import {
  byKind,
  KINDS,
  kindOfPriority,
  LEAST_URGENT_FIRST,
  priorityOf,
  rowOf,
} from "../../src/conversion/kinds.js";
import { ENDPOINTS, endpointOf, kindOf } from "../../src/service/endpoints.js";

test("the table of kinds numbers the priorities from 1, and orders the kinds by them", () => {
  expect(LEAST_URGENT_FIRST.map(priorityOf)).toEqual(KINDS.map((_, nth) => nth + 1));
  for (const kind of KINDS) expect(kindOfPriority(priorityOf(kind))).toBe(kind);
  expect(KINDS).toEqual(["payment", "registration", "click"]);
});

test("the table of kinds gives each endpoint to one kind", () => {
  expect(new Set(ENDPOINTS).size).toBe(ENDPOINTS.length);
  for (const kind of KINDS) {
    for (const endpoint of rowOf(kind).endpoints) expect(kindOf(endpoint)).toBe(kind);
    expect(rowOf(kind).endpoints).toContain(endpointOf({ kind, data: {} as never }));
    expect(rowOf(kind).endpoints[0]).toBe(endpointOf({ kind, data: { clickId: "c" } as never }));
  }
});

test("the table of kinds shares the space for known ids out between the kinds", () => {
  const shares = byKind((kind) => rowOf(kind).remembered.shareOfSpace);
  expect(Object.values(shares).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
  expect(Object.keys(shares)).toEqual(LEAST_URGENT_FIRST);
});

test("the table of kinds names every field of an address, so that a person's events are found by it", () => {
  for (const kind of KINDS) {
    const addresses = Object.keys(rowOf(kind).fields).filter((name) => /^email$|Email$/.test(name));
    expect(addresses).toEqual([rowOf(kind).emailField].filter((name) => name !== null));
  }
});
