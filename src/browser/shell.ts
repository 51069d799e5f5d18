import page from "./page.html?raw";

/** The document that loads a page's files, which lie beside it. `icon`: an address. */
export function shellOf(title: string, icon: string): string {
  return page.replace("TITLE", title).replace("ICON", icon);
}

/**
 * Its Content-Security-Policy: it loads its own files only, and icons from `images`. The scripts
 * write texts only. Even if one did not, the browser would parse no HTML for it.
 */
export function policyWith(images: "'self'" | "data:"): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src ${images}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}
