import { expect, test } from "vitest";
import { toldBy } from "../../../src/outbox/queue/told.js";

const statement = `insert into "affiliate".events (data) values ('{"customerName":"Ann - Lee"}')`;

test.each([
  ["of a library's own", new Error("the pool is closed"), "the pool is closed"],
  [
    "of a driver, wrapped",
    new Error(`Failed query: ${statement}`, { cause: new Error("Timeout") }),
    "Timeout",
  ],
  ["that is the statement's alone", new Error(`Failed query: ${statement}\nparams: Ann`), "Failed query:"],
  ["after the statement", new Error(`${statement} - Connection terminated`), "Connection terminated"],
  ["that is no error", "closed", "closed"],
])("an error %s tells why, and nothing of the event", (_, error, words) => {
  expect(toldBy(error, () => false)).toEqual({ words });
});
