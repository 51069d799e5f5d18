// Files that are bundled as a text each: see inline-plugin.ts and tsup.config.ts.

/** A module with its imports, as one CommonJS script, for a thread that no bundler can lose. */
declare module "inline:*" {
  const source: string;
  export default source;
}

/** A file as it is. Vite knows it. */
declare module "*?raw" {
  const text: string;
  export default text;
}

/** A module with its imports, as one script for a page. */
declare module "*?script" {
  const text: string;
  export default text;
}
