// Shortcuts of one key each, which a reader may turn off.
import { $, change, html, shown } from "../../../browser/page.js";
import { showFaults } from "./service.js";

const actions = {
  "/": () => $("search").focus(),
  f: () => {
    showFaults(true);
    $("modes").querySelector("button").focus();
  },
  j: () => step(1),
  k: () => step(-1),
  r: () => $("containing").focus(),
  "?": showKeys,
};

export function startShortcuts() {
  change({ hasShortcuts: localStorage.getItem("shortcuts") !== "off" });
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea, dialog");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !shown.hasShortcuts) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

export function showKeys() {
  $("keys").showModal();
}

function turn({ target }) {
  localStorage.setItem("shortcuts", target.checked ? "on" : "off");
  change({ hasShortcuts: target.checked });
}

function step(by) {
  const visitors = [...document.querySelectorAll(".visitor")];
  const at = visitors.indexOf(document.activeElement.closest(".visitor"));
  visitors[at < 0 ? 0 : Math.min(Math.max(at + by, 0), visitors.length - 1)]?.focus();
}

export function Keys({ hasShortcuts }) {
  return html`
    <dialog id="keys" aria-labelledby="keys-title">
      <form method="dialog"><h2 id="keys-title">Shortcuts</h2><button type="submit">Close</button></form>
      <dl>
        <div><dt><kbd>/</kbd></dt><dd>find visitors</dd></div>
        <div><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>the next visitor, the one before</dd></div>
        <div><dt><kbd>r</kbd></dt><dd>find requests</dd></div>
        <div><dt><kbd>f</kbd></dt><dd>faults</dd></div>
        <div><dt><kbd>?</kbd></dt><dd>this list</dd></div>
      </dl>
      <label><input id="shortcuts" type="checkbox" checked=${hasShortcuts} onChange=${turn} /> Shortcuts are on</label>
    </dialog>
  `;
}
