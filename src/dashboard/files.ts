import base from "../browser/base.css?raw";
import icon from "./browser/icon.svg?raw";
import script from "./browser/main.js?script";
import style from "./browser/style.css?raw";

export { default as pageText } from "./browser/page.html?raw";

type File = readonly [name: string, type: string, text: string];

/** What the page asks for, beside it. */
export const files: readonly File[] = [
  ["base.css", "text/css", base],
  ["style.css", "text/css", style],
  ["icon.svg", "image/svg+xml", icon],
  ["main.js", "text/javascript", script],
];
