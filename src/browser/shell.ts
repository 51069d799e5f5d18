import document from "./page.html?raw";

/** The document that loads a page's script and style, which lie beside it. */
export function pageOf(title: string): string {
  return document.replace("TITLE", title);
}

/**
 * Its Content-Security-Policy: it loads its own files only. The scripts write texts only. Even if one
 * did not, the browser would parse no HTML for it.
 */
export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");
