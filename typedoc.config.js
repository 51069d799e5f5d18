// @ts-check
import tsconfig from "./tsconfig.json" with { type: "json" };

/** @type {Partial<import("typedoc").TypeDocOptions>} */
export default {
  name: "express-affiliate",
  entryPoints: Object.values(tsconfig.compilerOptions.paths).flat(),
  out: "docs/api",
  readme: "none",
  includeVersion: true,
  sort: ["source-order"],
  treatWarningsAsErrors: true,
  validation: { notExported: true, invalidLink: true, rewrittenLink: true, notDocumented: true },
  requiredToBeDocumented: [
    "Module",
    "Class",
    "Interface",
    "TypeAlias",
    "Function",
    "Variable",
    "Method",
    "CallSignature",
  ],
  // What a reader has no use for by name.
  intentionallyNotExported: [
    "AnyLocals",
    "Perhaps",
    "Awaitable",
    "TrackFunction",
    "Clock",
    "Creates",
    "EventData",
    "EventOf",
    "Provenance",
    "ServiceId",
    "AmbiguousPolicy",
    "faultModes",
    "Kind",
    "Entries",
    "Where",
    "Expected",
  ],
};
