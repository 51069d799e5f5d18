// Files for the browser, bundled as text. `?raw` is the file: see tsup.config.ts; Vite knows it.
declare module "*?raw" {
  const text: string;
  export default text;
}

// `?script` is a module with its imports, as one script: see `pageScripts` in inline-plugin.ts.
declare module "*?script" {
  const text: string;
  export default text;
}
