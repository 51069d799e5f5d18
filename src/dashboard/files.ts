import base from "../browser/base.css?raw";
import elements from "../browser/elements.js?raw";
import patch from "../browser/patch.js?raw";
import decisions from "./browser/decisions.js?raw";
import icon from "./browser/icon.svg?raw";
import letters from "./browser/letters.js?raw";
import main from "./browser/main.js?raw";
import process from "./browser/process.js?raw";
import question from "./browser/question.js?raw";
import server from "./browser/server.js?raw";
import state from "./browser/state.js?raw";
import style from "./browser/style.css?raw";

export { default as pageText } from "./browser/page.html?raw";

type File = readonly [name: string, type: string, text: string];

const script = (name: string, text: string): File => [`${name}.js`, "text/javascript", text];

/** What the page asks for, beside it. */
export const files: readonly File[] = [
  ["base.css", "text/css", base],
  ["style.css", "text/css", style],
  ["icon.svg", "image/svg+xml", icon],
  script("main", main),
  script("server", server),
  script("state", state),
  script("process", process),
  script("letters", letters),
  script("decisions", decisions),
  script("question", question),
  script("elements", elements),
  script("patch", patch),
];
