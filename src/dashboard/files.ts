import base from "../browser/base.css?raw";
import { shellOf } from "../browser/shell.js";
import icon from "./browser/icon.svg?raw";
import script from "./browser/main.js?script";
import style from "./browser/style.css?raw";

export const pageText = shellOf("Affiliate delivery", "icon.svg");

/** The page's files: name, type and text. */
export const files = [
  ["base.css", "text/css", base],
  ["style.css", "text/css", style],
  ["icon.svg", "image/svg+xml", icon],
  ["main.js", "text/javascript", script],
] as const;
