// @ts-check
import { readFileSync } from "node:fs";
import { Converter } from "typedoc";
import tsconfig from "./tsconfig.json" with { type: "json" };

// The guides, in the order of their index, and then what is about the project.
const index = readFileSync(new URL("docs/README.md", import.meta.url), "utf8");
const guides = [...index.matchAll(/\]\(([a-z-]+\.md)(?:#[\w-]+)?\)/g)].map(([, name]) => `docs/${name}`);
const documents = [...new Set(guides), "docs/README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/** A document is called what its first heading says, not what its file is called. @param {import("typedoc").Application} app */
function nameDocuments(app) {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const [{ text = "" } = {}] = document.content;
    document.name = /^# (.+)$/m.exec(text)?.[1] ?? document.name;
  });
}

/** @type {Partial<import("typedoc").TypeDocOptions>} */
export default {
  name: "express-affiliate",
  entryPoints: Object.values(tsconfig.compilerOptions.paths).flat(),
  out: "docs/api",
  readme: "README.md",
  projectDocuments: documents,
  plugin: [nameDocuments],
  highlightLanguages: ["js", "ts", "sh", "sql", "html", "json", "yaml", "dockerfile"],
  includeVersion: true,
  excludeInternal: true,
  sort: ["documents-first", "kind", "source-order"],
  kindSortOrder: [
    "Document",
    "Project",
    "Module",
    "Namespace",
    "Function",
    "Class",
    "Interface",
    "TypeAlias",
    "Variable",
    "Enum",
    "EnumMember",
    "Constructor",
    "Property",
    "Accessor",
    "Method",
    "Parameter",
    "TypeParameter",
    "TypeLiteral",
    "CallSignature",
    "ConstructorSignature",
    "IndexSignature",
    "GetSignature",
    "SetSignature",
    "Reference",
  ],
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
