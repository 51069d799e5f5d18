/** A module with its imports, as one CommonJS script, for a thread that no bundler can lose. */
declare module "inline:*" {
  const source: string;
  export default source;
}
