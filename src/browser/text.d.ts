// Files for the browser are bundled as text: Vite knows `?raw` by itself, tsup through a plugin in tsup.config.ts.
declare module "*?raw" {
  const text: string;
  export default text;
}
