// Files for the browser are bundled as text. `?raw` is the file itself: Vite knows it, tsup through a plugin in tsup.config.ts.
declare module "*?raw" {
  const text: string;
  export default text;
}

// `?script` is a module with all that it imports, as one script: see `pageScripts` in inline-plugin.ts.
declare module "*?script" {
  const text: string;
  export default text;
}
