// Shortcuts of one key each, which a reader may turn off.
import { $ } from "./dom.js";

const actions = {
  "/": () => $("search").focus(),
  f: () => $("modes").querySelector("button").focus(),
  j: () => step(1),
  k: () => step(-1),
  r: () => $("containing").focus(),
  "?": () => $("keys").showModal(),
};

export function startShortcuts() {
  $("shortcuts").checked = localStorage.getItem("shortcuts") !== "off";
  $("shortcuts").addEventListener("change", () =>
    localStorage.setItem("shortcuts", $("shortcuts").checked ? "on" : "off"),
  );
  $("help").addEventListener("click", () => $("keys").showModal());
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea, dialog");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !$("shortcuts").checked) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** To the next visitor, or the one before. */
function step(by) {
  const visitors = [...document.querySelectorAll(".visitor")];
  const at = visitors.indexOf(document.activeElement.closest(".visitor"));
  visitors[at < 0 ? 0 : Math.min(Math.max(at + by, 0), visitors.length - 1)]?.focus();
}
