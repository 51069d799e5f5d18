// A question before something that cannot be taken back.
import { $, h } from "./elements.js";
import { patch } from "./patch.js";

/**
 * Asks, and resolves to the value of the answer that was chosen; to "" where the reader thought better of it.
 *
 * @param answers `[value, label]` each; one more, to cancel, comes first and has the focus.
 */
export function ask({ title, body, answers }) {
  const dialog = $("question");
  patch($("question-title"), title);
  patch($("question-body"), body);
  patch(
    $("answers"),
    [["", "Cancel"], ...answers].map(([value, label]) =>
      h("button", { type: "submit", value, "data-key": `answer ${value}` }, label),
    ),
  );
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  });
}
