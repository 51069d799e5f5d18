import {
  Application,
  type Comment,
  type DeclarationReflection,
  type ProjectReflection,
  ReflectionKind,
} from "typedoc";
import { beforeAll, describe, expect, it } from "vitest";
import options from "../typedoc.config.js";
import { problemsIn } from "./helpers/docs/check.js";
import { linksOf, textOf } from "./helpers/docs/pages.js";

let reference: ProjectReflection;
beforeAll(async () => {
  // The types are checked by `npm run typecheck`, the links by `npm run docs:api`.
  const app = await Application.bootstrapWithPlugins({
    ...options,
    skipErrorChecking: true,
    logLevel: "None",
  });
  reference = (await app.convert()) as ProjectReflection;
}, 240_000);

const modules = () => reference.getChildrenByKind(ReflectionKind.Module);
const documented = ({ comment, signatures, getSignature }: DeclarationReflection): Comment | undefined =>
  comment ?? signatures?.find((signature) => signature.comment)?.comment ?? getSignature?.comment;

/**
 * What a reader meets by name: the exports, and their own members. Each with its full name and its
 * comment's text.
 */
function entries(): { name: string; text: string }[] {
  const exports = modules()
    .flatMap(({ children = [] }) => children)
    .filter(({ kind }) => kind !== ReflectionKind.Reference);
  const own = exports
    .flatMap(({ children = [] }) => children)
    .filter(({ kind, inheritedFrom }) => kind !== ReflectionKind.Constructor && !inheritedFrom);
  return [...exports, ...own].map(entryOf);
}

function entryOf(reflection: DeclarationReflection): { name: string; text: string } {
  const comment = documented(reflection);
  const parts = [comment?.summary ?? [], ...(comment?.blockTags.map(({ content }) => content) ?? [])];
  const text = parts.flat().map((part) => part.text);
  return { name: reflection.getFullName(), text: text.join("") };
}

describe("the API reference", () => {
  it("begins with the README and `affiliate()`, and has every guide in its navigation, in the order of their index", () => {
    expect(reference.readme?.[0]?.text).toMatch(/^# express-affiliate\n/);
    const [first] = modules();
    expect([first?.name, first?.children?.[0]?.name]).toEqual(["express-affiliate", "affiliate"]);
    const titles = (reference.documents ?? []).map(({ name }) => name);
    const pages = [...new Set(linksOf("docs/README.md").map((link) => link.split("#")[0] ?? ""))];
    const guides = pages.filter((page) => /^[a-z-]+\.md$/.test(page)).map((page) => `docs/${page}`);
    const titleOf = (page: string) => /^# (.+)$/m.exec(textOf(page))?.[1];
    expect(guides.length).toBeGreaterThan(10);
    expect(titles.slice(0, guides.length)).toEqual(guides.map(titleOf));
  });

  it("has every export at one entry point alone, but for `Outbox`: an exported outbox needs its name", () => {
    const exports = modules().flatMap(({ children = [] }) => children);
    expect(exports.length).toBeGreaterThan(50);
    const again = exports.filter(({ kind }) => kind === ReflectionKind.Reference);
    expect(new Set(again.map(({ name }) => name))).toEqual(new Set(["Outbox"]));
  });

  it("stays small, and shows nothing internal", () => {
    const exports = modules()[0]?.children?.length;
    expect(exports).toBeLessThanOrEqual(42);
    expect(exports).toBeGreaterThan(20);
    const all = Object.values(reference.reflections).map(({ name }) => name);
    expect(all).toContain("memoryOutbox");
    expect(all.filter((name) => /^clock$/i.test(name))).toEqual([]);
    const factories = reference
      .getReflectionsByKind(ReflectionKind.Function)
      .filter(({ name }) => /^(memory|disk|postgres|mysql)Outbox$/.test(name)) as DeclarationReflection[];
    const parameters = factories.map(({ signatures = [] }) =>
      signatures.map((each) => each.parameters?.length),
    );
    expect(parameters).toEqual([[1], [1], [1], [1]]);
  });

  it("says something about every export and each of its members", () => {
    expect(entries().filter(({ text }) => text.trim() === "")).toEqual([]);
  });

  it("says the unit of every duration, size and amount", () => {
    const units: [RegExp, RegExp][] = [
      [/Ms$/, /milliseconds/],
      [/Seconds$/, /seconds/],
      [/Bytes$/, /bytes|MiB|GiB/],
      [/\.leadValue$/, /major units|no value/],
    ];
    const measures = (reference.getReflectionsByKind(ReflectionKind.Property) as DeclarationReflection[])
      .map(entryOf)
      .filter(({ name }) => units.some(([pattern]) => pattern.test(name)));
    // Inherited options, and those of methods, too. What was reported, and what an error is made of, have no
    // words of their own.
    expect(measures.length).toBeGreaterThan(40);
    const unclear = measures.filter(
      ({ name, text }) =>
        !/\.event\.|\.constructor\./.test(name) &&
        !units.some(([pattern, unit]) => pattern.test(name) && unit.test(text)),
    );
    expect(unclear.map(({ name, text }) => `${name}: ${text}`)).toEqual([]);
  });

  it("has no example that TypeScript refuses", () => {
    const comments = Object.values(reference.reflections).flatMap(({ comment }) => comment ?? []);
    const blocks = comments
      .flatMap((comment) => comment.getTags("@example"))
      .map(({ content }, nth) => {
        const text = content.map((part) => part.text).join("");
        const [, info = "", code = ""] = /^```(\w+)\n(.*)\n```$/s.exec(text.trim()) ?? [];
        return { page: "docs/api-reference.md", heading: "", line: 1_000 * (nth + 1), info, code };
      });
    expect(blocks.filter(({ code }) => code === "")).toEqual([]);
    expect(blocks.length).toBeGreaterThan(15);
    expect(problemsIn(blocks)).toEqual([]);
  });
});
