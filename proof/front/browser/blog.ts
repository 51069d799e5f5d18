import type { RequestHandler } from "express";

/** What browsers do with a link before anybody follows it, as the page asks for it. */
const AHEAD: Record<string, (to: string) => string> = {
  prefetch: (to) => rules({ prefetch: [{ urls: [to], eagerness: "immediate" }] }),
  "prefetch-when-pressed": (to) => rules({ prefetch: [{ urls: [to], eagerness: "conservative" }] }),
  prerender: (to) => rules({ prerender: [{ urls: [to], eagerness: "immediate" }] }),
  "link-prefetch": (to) => `<link rel="prefetch" href="${escaped(to)}">`,
  image: (to) => `<img src="${escaped(to)}" alt="">`,
  frame: (to) => `<iframe src="${escaped(to)}" title="preview"></iframe>`,
};

const FOLLOW =
  '<script>fetch("/ahead?text=" + encodeURIComponent(go.search)).then(() => go.click())</script>';

/** A page with a link `#go` to `to`. With `opens` its script follows it, once asked for ahead. */
export const blogPage: RequestHandler = (req, res) => {
  const { to, ahead, opens } = req.query as Record<string, string>;
  const link = `<a id="go" href="${escaped(to ?? "")}">a link</a>`;
  const script = opens ? FOLLOW : "";
  res.send(`<!doctype html><title>A page</title>${link}${AHEAD[ahead ?? ""]?.(to ?? "") ?? ""}${script}`);
};

const rules = (value: unknown): string => `<script type="speculationrules">${JSON.stringify(value)}</script>`;

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
