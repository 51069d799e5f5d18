// @ts-check
import { readFileSync } from "node:fs";
import { Converter } from "typedoc";
import tsconfig from "./tsconfig.json" with { type: "json" };

// The guides, in the order of their index, and then what is about the project.
const index = readFileSync(new URL("docs/README.md", import.meta.url), "utf8");
const guides = [...index.matchAll(/\]\(([a-z-]+\.md)(?:#[\w-]+)?\)/g)].map(([, name]) => `docs/${name}`);
const documents = [...new Set(guides), "docs/README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/**
 * A document is called what its first heading says, not what its file is called. TypeDoc leaves code out of a heading's anchor, and
 * GitHub does not, so that a link to a heading of code works on GitHub alone: here it is text.
 *
 * @param {import("typedoc").Application} app
 */
function prepareDocuments(app) {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    let line = "";
    for (const part of document.content) {
      if (part.kind === "code" && /^#+ [^\n]*$/.test(line)) part.text = part.text.replaceAll("`", "");
      line = (line + part.text).split("\n").at(-1) ?? "";
    }
    document.name = /^# (.+)$/m.exec(document.content[0]?.text ?? "")?.[1] ?? document.name;
  });
}

/** The entry points by name, so that the package itself comes first. @param {import("typedoc").Application} app */
function sortModules(app) {
  app.converter.on(
    Converter.EVENT_RESOLVE_END,
    ({ project }) => {
      const modules = project.groups?.find(({ title }) => title === "Modules");
      for (const list of [project.children, modules?.children])
        list?.sort((one, other) => one.name.localeCompare(other.name));
    },
    -1_000, // after TypeDoc's own order
  );
}

/** @type {Partial<import("typedoc").TypeDocOptions>} */
export default {
  name: "express-affiliate",
  entryPoints: Object.values(tsconfig.compilerOptions.paths).flat(),
  out: "docs/api",
  readme: "README.md",
  projectDocuments: documents,
  plugin: [prepareDocuments, sortModules],
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
    "AddOutcome",
    "AnyLocals",
    "Unanswered",
    "Deliver",
    "HeadersLike",
    "Json",
    "Perhaps",
    "Awaitable",
    "TrackFunction",
    "Endpoint",
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
    "OutboxCounts",
    "OutboxObserver",
  ],
};
