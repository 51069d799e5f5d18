import { NEWEST_VERSION } from "../../queue/tables.js";
import { statementsOf } from "./dialect.js";

/**
 * The numbers of the file's format (`user_version`): that of the tables' first version, and of the
 * newest. 1 was that of a file that was never published.
 */
export const FORMAT = { first: 2, newest: NEWEST_VERSION + 1 } as const;

/** The n-th leads to the tables' version n. A published one never changes. */
export const migrations = (): readonly string[] =>
  Array.from({ length: NEWEST_VERSION }, (_, nth) => statementsOf(nth + 1).join(";\n"));
